/* SPDX-License-Identifier: MIT */
/* Debts: the loans that threads still have to take. See loan.h. */
#ifndef BATON_SRC_DEBT_H
#define BATON_SRC_DEBT_H

#include "core/resource.h"

/* Takes the resource out of one place of a thread's `debts`. True: the caller ends the visit. */
bool baton__debt_take_out(struct baton_resource **debt, struct baton_resource *resource);

/* Revokes all threads' debts to a closed resource: ends their visits. Called by the holder. */
void baton__debt_revoke(struct baton_resource *resource);

#endif
