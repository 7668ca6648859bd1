/* SPDX-License-Identifier: MIT */
/*
 * Probes for bpftrace, perf and SystemTap (USDT), of the provider "baton". A probe is one nop, and
 * a note that says where the nop is and where its arguments are; its arguments are values that the
 * code has at hand. So an untraced probe needs no semaphore: to ask one would cost more than the
 * nop. Without <sys/sdt.h> (Debian: systemtap-sdt-dev) at the library's build there are no probes,
 * and baton-debugging(7) says how to see which library has them.
 *
 * No probe is on the short paths: where a thread runs its own task on an idle resource, or pushes a
 * task onto a busy resource without statistics. To see these paths, trace baton_submit itself.
 */
#ifndef BATON_SRC_PROBE_H
#define BATON_SRC_PROBE_H

#if !defined(BATON_NO_PROBES) && defined(__has_include)
#if __has_include(<sys/sdt.h>)
#include <sys/sdt.h>
#ifdef __clang__ /* the macros of sdt.h rely on this extension */
#pragma clang diagnostic ignored "-Wgnu-zero-variadic-macro-arguments"
#endif
#define BATON_PROBE(name, one, two) DTRACE_PROBE2(baton, name, one, two)
#endif
#endif

#ifndef BATON_PROBE
#define BATON_PROBE(name, one, two) (void)0
#endif

#endif
