/* SPDX-License-Identifier: MIT */
/* The sockets of a run: epoll, big reads, one write for all that a client has to say. */
#ifndef LOAD_NETWORK_H
#define LOAD_NETWORK_H

#include <stdbool.h>
#include <stdint.h>

struct client;
struct load;

/* 0, or the run has failed. */
int network_init(struct load *load);
void network_deinit(struct load *load);

/* Waits until the broker accepts a connection, as long as the options say. */
bool network_probe(struct load *load);

/* Starts a client's connection. */
void network_connect(struct load *load, struct client *client);

/* Sends what it can; the rest when the socket takes it. */
void network_flush(struct load *load, struct client *client);

/* Waits for anything, at most that long, and handles it. */
void network_wait(struct load *load, int timeout_ms);

/* The next wait ends at that moment, too. */
void network_alarm(struct load *load, uint64_t at_ns);

/* DISCONNECTs and closes all. */
void network_close(struct load *load);

#endif
