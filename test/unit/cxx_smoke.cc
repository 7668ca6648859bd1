/* SPDX-License-Identifier: MIT */
/*
 * The public headers as a C++17 program sees them: they compile without a warning, every
 * initialiser macro is a constant initialiser, and what they declare links and runs.
 */
#include <baton/all.h>
#include <baton/admission.h>
#include <baton/mainloop.h>
#include <baton/redis.h>
#include <baton/remote.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <type_traits>

namespace
{

int failures;

void expect(bool condition, const char *text)
{
	if (!condition) {
		failures++;
		std::fprintf(stderr, "cxx_smoke: not so: %s\n", text);
	}
}

#define EXPECT(condition) expect((condition), #condition)

struct counter {
	baton_task task;
	int value;
};

int count(baton_task *task)
{
	counter *self = baton_container_of(task, counter, task);

	self->value++;
	baton_set_result(&self->value);
	return 0;
}

void *add_one(void *arg)
{
	++*static_cast<int *>(arg);
	return arg;
}

void run_job(baton_plain_job *)
{
}

uint64_t fires_answered;

int on_fire(baton_trigger *, uint64_t fires)
{
	fires_answered += fires;
	return 0;
}

int undo_nothing(baton_undo *)
{
	return 0;
}

int fail_and_undo(baton_task *)
{
	static baton_undo undo;
	baton_undo_log log;

	baton_undo_log_begin(&log);
	baton_undo_log_push(&log, &undo, undo_nothing);
	return baton_undo_log_end(&log, -EIO);
}

int visit(baton_resource *, void *arg, size_t)
{
	++*static_cast<int *>(arg);
	return 0;
}

/* constexpr: the compiler itself confirms that these are constants. */
constexpr baton_resource_config config_default = BATON_RESOURCE_CONFIG_INIT;
constexpr baton_pool_options options_default = BATON_POOL_OPTIONS_INIT;
constexpr baton_future future_fresh = BATON_FUTURE_INIT;
constexpr baton_future promise_fresh = BATON_PROMISE_INIT;
constexpr baton_suspension suspension_fresh = BATON_SUSPENSION_INIT;
[[maybe_unused]] constexpr struct baton_hold hold_fresh = BATON_HOLD_INIT;
constexpr baton_registry_options registry_options =
	BATON_REGISTRY_OPTIONS_INIT(sizeof(baton_registry_entry), nullptr, nullptr, nullptr);
[[maybe_unused]] constexpr baton_registry_request request_fresh = BATON_REGISTRY_REQUEST_INIT;
constexpr baton_task task_fresh = BATON_TASK_INIT(count, nullptr);
const baton_task_type counting = {count, nullptr, 0, 0, 0, 0, 0, 0, {}};
[[maybe_unused]] baton_task task_typed = BATON_TASK_INIT_OF(&counting);
[[maybe_unused]] constexpr baton_detached detached_fresh = BATON_DETACHED_INIT;
[[maybe_unused]] baton_remote_task remote_fresh = BATON_REMOTE_TASK_INIT("a", 1, "", 0, nullptr);
[[maybe_unused]] constexpr baton_deadline deadline_fresh = BATON_DEADLINE_INIT(nullptr);
[[maybe_unused]] constexpr baton_window window_fresh = BATON_WINDOW_INIT(nullptr, 16);
[[maybe_unused]] constexpr struct baton_shared_hold shared_hold_fresh = BATON_SHARED_HOLD_INIT;
[[maybe_unused]] constexpr baton_readers readers_fresh = BATON_READERS_INIT(nullptr);
[[maybe_unused]] constexpr baton_admission_config admission_default = BATON_ADMISSION_CONFIG_INIT;
[[maybe_unused]] constexpr baton_rules_config rules_default = BATON_RULES_CONFIG_INIT;
[[maybe_unused]] constexpr baton_rules_entry rules_entry_fresh = BATON_RULES_ENTRY_INIT(0);
[[maybe_unused]] constexpr baton_tag tag_fresh = BATON_TAG_INIT;
[[maybe_unused]] constexpr baton_label label_plain = BATON_LABEL_INIT;
[[maybe_unused]] constexpr baton_lanes_config lanes_plain = BATON_LANES_CONFIG_INIT;
[[maybe_unused]] constexpr baton_lanes lanes_none = BATON_LANES_INIT(nullptr, 1, &lanes_plain);
constexpr baton_bound_config bound_none = BATON_BOUND_CONFIG_INIT;
[[maybe_unused]] constexpr baton_bound bound_fresh = BATON_BOUND_INIT(&bound_none);
constexpr baton_executor_ops no_ops = {};
[[maybe_unused]] constexpr baton_executor executor_of_ones_own = BATON_EXECUTOR_INIT(&no_ops);
[[maybe_unused]] constexpr baton_plain_job job_fresh = BATON_PLAIN_JOB_INIT(run_job, nullptr);
constexpr baton_timers_options timers_default = BATON_TIMERS_OPTIONS_INIT;
constexpr baton_timer timer_fresh = BATON_TIMER_INIT(nullptr, nullptr, nullptr);
constexpr baton_resource resource_fresh = BATON_RESOURCE_INIT(nullptr);
[[maybe_unused]] constexpr baton_trigger trigger_fresh = BATON_TRIGGER_INIT(nullptr, on_fire);
[[maybe_unused]] constexpr baton_io io_fresh = BATON_IO_INIT(nullptr, nullptr);
constexpr baton_group group_fresh = BATON_GROUP_INIT;
[[maybe_unused]] constexpr baton_stamp stamp_plain = BATON_STAMP_INIT;
constexpr baton_resource_config later()
{
	baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;

	config.capture_max = BATON_CAPTURE_NONE;
	return config;
}

constexpr baton_resource_config config_later = later();
constexpr baton_resource resource_later = BATON_RESOURCE_INIT(&config_later);

baton_resource_stats stats;
baton_future future = BATON_FUTURE_INIT;
counter counted = {BATON_TASK_INIT(count, &future), 0};
constexpr baton_resource_config config_named = BATON_RESOURCE_CONFIG_NAMED("resource");
baton_resource resource = BATON_RESOURCE_INIT(&config_named);

void submits_a_task()
{
	EXPECT(baton_submit(&resource, &counted.task) == 0);
	EXPECT(baton_future_wait(&future) == 0);
	EXPECT(baton_future_state(&future) == BATON_DONE);
	EXPECT(baton_future_is_complete(&future));
	EXPECT(baton_resource_is_idle(&resource) && !baton_resource_is_closed(&resource));
	EXPECT(baton_thread_attach() == 0);
	EXPECT(baton_version_number() == BATON_VERSION);
	static_assert(BATON_VERSION >= BATON_VERSION_OF(0, 2, 0), "comparable");
	static_assert(!std::is_convertible<baton_stopped, int>::value &&
	                      !std::is_convertible<baton_stopped, bool>::value,
	              "what 0.2's stops returned");
	EXPECT(baton_future_status(&future) == 0);
	EXPECT(baton_future_value(&future) == &counted.value);
	EXPECT(counted.value == 1);
}

void calls_and_awaits()
{
	baton_future *result = nullptr;
	baton_future *const nothing[] = {nullptr};
	void *value = nullptr;

	EXPECT(baton_call(&resource, add_one, &counted.value, &value) == 0);
	EXPECT(value == &counted.value);
	EXPECT(baton_async(&resource, add_one, &counted.value, &result) == 0);
	if (result) {
		EXPECT(baton_future_wait(result) == 0);
		EXPECT(baton_future_value(result) == &counted.value);
		baton_future_unref(result);
	}
	EXPECT(counted.value == 3);
	EXPECT(baton_future_wait_all_or_cancel(nothing, 0) == 0);
	EXPECT(std::strcmp(baton_resource_name(&resource), "resource") == 0);
}

void suspends()
{
	baton_suspension suspension = suspension_fresh;
	baton_resource *resources[] = {&resource};

	EXPECT(baton_resource_suspend(&resource, &suspension) == 0);
	EXPECT(baton_suspension_is_effective(&suspension));
	EXPECT(baton_suspension_wait(&suspension) == 0);
	EXPECT(baton_resource_resume(&suspension) == 0);
	EXPECT(baton_resource_resume_later(&suspension) == -EINVAL);
	EXPECT(baton_quiesce(resources, 1, &suspension) == 0);
	EXPECT(baton_quiesce_end(&suspension, 1) == 0);
}

void fulfils_a_promise()
{
	baton_future promise = promise_fresh;

	EXPECT(baton_future_complete(&promise, 0, &failures) == 0);
	EXPECT(baton_future_complete(&promise, 0, nullptr) == -EALREADY);
	EXPECT(baton_future_value(&promise) == &failures);
}

void composes()
{
	baton_resource own = BATON_RESOURCE_INIT(nullptr);
	baton_trigger trigger = BATON_TRIGGER_INIT(&own, on_fire);
	baton_mainloop loop = BATON_MAINLOOP_INIT;
	baton_source source = BATON_SOURCE_INIT(&loop, nullptr, "source");
	baton_source_config readable = {};
	readable.kind = BATON_SOURCE_READABLE;
	baton_source_fd watched = BATON_SOURCE_FD_INIT(&loop, &readable, "watched", 0);
	baton_group group = group_fresh;
	baton_future undone = future_fresh;
	baton_task failing = BATON_TASK_INIT(fail_and_undo, &undone);
	baton_resource *both[] = {&own, &own};
	int visits = 0;
	baton_fan_out_options options = {visit, &visits, 0, nullptr, {}};
	baton_fan_out *fan_out = nullptr;

	EXPECT(baton_source_start(&source) == -ESHUTDOWN);
	EXPECT(baton_source_start(&watched.source) == -ESHUTDOWN);
	EXPECT(baton_trigger_fire(&trigger) == 0);
	EXPECT(fires_answered == 1);
	baton_group_enter(&group);
	baton_group_leave(&group);
	EXPECT(baton_group_wait(&group) == 0);
	EXPECT(baton_submit(&own, &failing) == 0);
	EXPECT(baton_future_status(&undone) == -EIO);
	EXPECT(baton_fan_out_submit(both, 2, &options, &fan_out) == 0);
	if (fan_out) {
		EXPECT(baton_fan_out_wait(fan_out) == 0);
		baton_fan_out_unref(fan_out);
	}
	EXPECT(visits == 2);
	EXPECT(baton_resource_close(&own) == 0);
	EXPECT(baton_resource_await(&own) == 0);
}

void closes()
{
	baton_task late = task_fresh;

	EXPECT(baton_resource_close(&resource) == 0);
	EXPECT(baton_submit(&resource, &late) == -EPIPE);
	EXPECT(baton_resource_await(&resource) == 0);
	baton_resource_deinit(&resource);
}

void registers_a_name()
{
	baton_registry *registry = nullptr;
	baton_registry_entry *entry = nullptr;
	size_t length = 0;

	EXPECT(baton_registry_create(&registry_options, &registry) == 0);
	EXPECT(baton_registry_find(registry, "a", 1, &entry) == -ENOENT);
	EXPECT(baton_registry_acquire(registry, "a", 1, &entry) == 0);
	if (entry) {
		EXPECT(baton_registry_name(entry, &length) && length == 1);
		EXPECT(baton_registry_name_of(&entry->resource));
		EXPECT(baton_registry_unref(entry) == 0);
	}
	EXPECT(baton_registry_destroy(registry) == 0);
	EXPECT(baton_epoch_enter() == 0);
	baton_epoch_leave();
}

} /* namespace */

int main()
{
	baton_resource_set_stats(&resource, &stats);
	EXPECT(options_default.workers == 0);
	EXPECT(baton_future_state(&future_fresh) == BATON_PENDING);
	EXPECT(baton_resource_name(&resource_fresh) == nullptr);
	EXPECT(baton_resource_name(&resource_later) == nullptr);
	submits_a_task();
	calls_and_awaits();
	suspends();
	registers_a_name();
	fulfils_a_promise();
	composes();
	closes();
	if (failures == 0)
		std::printf("cxx_smoke: ok\n");
	return failures != 0;
}
