/* SPDX-License-Identifier: MIT */
/* A board that cannot be created leaves nothing behind. */
#include "heap.h"

#include <baton/board.h>

#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

enum { ROUNDS = 100 };

Test(board_refused, a_file_that_may_not_be_so_large_leaves_nothing, .timeout = 10)
{
	static const struct rlimit small = {4096, 4096};
	char path[] = "/tmp/baton-test-board-XXXXXX";
	struct baton_board_options options = {.path = path};
	struct baton_board *board = NULL;
	int fd = mkstemp(path), files = open_files();
	size_t before = 0;

	MUST(fd >= 0 && signal(SIGXFSZ, SIG_IGN) != SIG_ERR && !setrlimit(RLIMIT_FSIZE, &small));
	for (int i = 0; i < ROUNDS; i++) {
		if (i == 10) /* The first rounds fill the allocator's cache. */
			before = heap_in_use();
		cr_assert_eq(baton_board_create(&options, &board), -EFBIG);
		cr_assert_null(board);
		cr_assert_eq(access(path, F_OK), -1);
	}
	cr_assert(grown_less(before, ROUNDS));
	cr_assert_eq(open_files(), files);
	close(fd);
}
