/* SPDX-License-Identifier: MIT */
/* From a host's name to sockets that listen on its addresses. */
#ifndef BROKER_ADDRESS_H
#define BROKER_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sys/socket.h>

/*
 * Listens on each address that `host` has (a name, or a number; NULL: on all addresses of this
 * machine); port 0: any that is free, the same on all. Returns how many descriptors, at most
 * `most`, are in `fds`; or a negative errno, and has printed why.
 */
int address_listen(const char *host, unsigned int port, int *fds, size_t most);

/* Can only this machine reach what listens on this descriptor? */
bool address_local(int fd);

/*
 * The network that an address is in; one customer usually has all of a network. For IPv4, also
 * mapped into IPv6, it is the whole address; for IPv6 the first 64 bits.
 */
uint64_t address_network(const struct sockaddr_storage *address);

/* Prints "listening on HOST:PORT", and "TLS" if it is. */
void address_announce(int fd, bool tls);

#endif
