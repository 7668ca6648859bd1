/* SPDX-License-Identifier: MIT */
/*
 * baton in C++17, header only, over the interface of C; coroutines from C++20 on. The headers in
 * baton/ that end in .hpp are independent of each other as those of C are: a program may include
 * the ones that it needs.
 *
 *	#include <baton.hpp>
 *
 *	struct account {
 *		baton::resource resource;
 *		long balance = 0;            // touched under the resource's baton alone
 *	};
 *
 *	account.resource.post([&, amount] { account.balance += amount; });
 *	long balance = account.resource.call([&] { return account.balance; });
 *
 * There is nothing here that schedules, and no state but the objects of C. Each class has, or is,
 * the struct of C: so both interfaces may be used side by side, and the pages of C hold. Link with
 * libbaton.
 *
 *   resource.hpp   | resource, task: post, call, submit, async; who destroys a callable when
 *   future.hpp     | future, then
 *   when.hpp       | when_all, when_any
 *   await.hpp      | co_await: a resource, a future, a time, an executor
 *   coroutine.hpp  | what a coroutine may return: a future, a routine
 *   timer.hpp      | timer
 *   pool.hpp       | pool
 *   loop.hpp       | loop: an executor for an event loop's thread
 *   group.hpp      | group
 *   tag.hpp        | tag: cancels what belongs together
 *   parallel.hpp   | parallel_for
 *   guard.hpp      | guard: a hold, as a lock's
 *   error.hpp      | codes and exceptions
 *   asio.hpp       | a resource as an executor of Asio; not included here, since it needs Asio
 */
#ifndef BATON_HPP
#define BATON_HPP

#include <baton/coroutine.hpp>
#include <baton/error.hpp>
#include <baton/future.hpp>
#include <baton/group.hpp>
#include <baton/guard.hpp>
#include <baton/loop.hpp>
#include <baton/parallel.hpp>
#include <baton/pool.hpp>
#include <baton/resource.hpp>
#include <baton/tag.hpp>
#include <baton/timer.hpp>

#endif
