/* SPDX-License-Identifier: MIT */
/* What the files of this folder share. */
#ifndef BROKER_INSIDE_H
#define BROKER_INSIDE_H

#include "store/database.h"

struct store;

/* The store's database: for its own thread; at the start, before a write, for the main thread. */
struct database *store_database(struct store *store);

#endif
