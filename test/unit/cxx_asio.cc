/* SPDX-License-Identifier: MIT */
/* A resource as an executor of Asio, in place of a strand; Asio's threads under resources. */
#include "cxx.h"

#if defined(BATON_ASIO_STANDALONE)
#include <asio.hpp>
#else
#include <boost/asio.hpp>
#endif

#include <baton/asio.hpp>

#include <memory>
#include <optional>
#include <stdexcept>

namespace asio = baton::asio;

namespace
{

static_assert(asio::execution::is_executor<baton::executor>::value);
static_assert(std::is_convertible_v<baton::executor, asio::any_io_executor>);

void a_post_is_later_and_a_dispatch_may_be_here()
{
	baton::resource resource, other;
	const baton::executor executor(resource);
	const auto self = std::this_thread::get_id();
	std::atomic<int> steps{0};
	int order = 0;

	EXPECT(executor == baton::executor(resource) && executor != baton::executor(other));
	asio::dispatch(executor, [&, held = counted()] {
		EXPECT(std::this_thread::get_id() == self && resource.is_held());
		/* Inside a task of the resource: at once. */
		asio::dispatch(executor, [&, also = counted()] { order = 1; });
		EXPECT(order == 1);
		asio::post(executor, [&, also = counted()] { order = 2; });
		EXPECT(order == 1);
	});
	asio::post(executor, [&, held = counted()] {
		EXPECT(std::this_thread::get_id() != self && resource.is_held());
		steps++;
	});
	asio::defer(executor, [&, held = counted(), only = std::make_unique<int>(1)] {
		EXPECT(std::this_thread::get_id() != self && resource.is_held());
		steps += *only;
	});
	while (steps != 2)
		std::this_thread::yield();
	EXPECT(!resource.await() && order == 2);
}

void handlers_of_one_resource_never_overlap()
{
	asio::io_context io;
	baton::asio_executor threads(io.get_executor());
	const baton_resource_config config = baton::with_executor(&threads);
	baton::resource resource(config);
	const baton::executor executor(resource, io);
	int count = 0;

	for (int i = 0; i < 1000; i++) {
		asio::post(io, asio::bind_executor(executor, [&, held = counted()] { count++; }));
		asio::post(executor, [&, held = counted()] { count++; });
	}
	std::thread other([&] { io.run(); });
	io.run();
	other.join();
	EXPECT(count == 2000);
}

void a_timer_of_asio_completes_on_the_resource()
{
	asio::io_context io;
	baton::resource resource;
	asio::steady_timer timer(io, std::chrono::milliseconds(1));
	bool held = false;

	timer.async_wait(asio::bind_executor(
		baton::executor(resource, io),
		[&, also = counted()](const auto &) { held = resource.is_held(); }));
	io.run();
	EXPECT(!resource.await() && held);
}

void what_asio_drops_is_cancelled()
{
	auto io = std::make_unique<asio::io_context>();
	std::optional<baton::asio_executor<asio::io_context::executor_type>> threads(
		io->get_executor());
	const baton_resource_config config = baton::with_executor(&*threads, BATON_CAPTURE_NONE);
	baton::resource resource(config);
	baton::future<void> future = resource.async([held = counted()] { EXPECT(false); });

	EXPECT(!future.is_complete());
	io.reset();
	EXPECT(future.error() == std::errc::operation_canceled);
}

void a_closed_resource_refuses_handlers()
{
	baton::resource resource;
	const baton::executor executor(resource);
	int refused = 0;

	EXPECT(!resource.close());
	for (int i = 0; i < 2; i++)
		try {
			if (i)
				asio::post(executor, [held = counted()] {});
			else
				asio::dispatch(executor, [held = counted()] {});
		} catch (const std::system_error &error) {
			refused += error.code() == std::errc::broken_pipe;
		}
	EXPECT(refused == 2);
}

#if defined(BOOST_ASIO_HAS_CO_AWAIT)

asio::awaitable<int> echoes(asio::ip::tcp::socket &from, baton::resource &resource)
{
	char bytes[3];

	EXPECT(resource.is_held());
	const std::size_t length =
		co_await asio::async_read(from, asio::buffer(bytes), asio::use_awaitable);
	EXPECT(resource.is_held() && length == 3);
	if (bytes[0] == 'x')
		throw std::runtime_error("x");
	co_return bytes[0];
}

int outcome_of(const char *text)
{
	asio::io_context io;
	baton::asio_executor threads(io.get_executor());
	const baton_resource_config config = baton::with_executor(&threads);
	baton::resource resource(config);
	asio::ip::tcp::acceptor acceptor(
		io, asio::ip::tcp::endpoint(asio::ip::address_v4::loopback(), 0));
	asio::ip::tcp::socket client(io), server(io);
	int outcome = -1;

	client.connect(acceptor.local_endpoint());
	acceptor.accept(server);
	asio::co_spawn(baton::executor(resource, io), echoes(server, resource),
	               [&, held = counted()](const std::exception_ptr &exception, int result) {
			       outcome = exception ? -2 : result;
		       });
	asio::write(client, asio::buffer(text, 3));
	io.run();
	return outcome;
}

void a_coroutine_of_asio_runs_on_the_resource()
{
	EXPECT(outcome_of("abc") == 'a');
	EXPECT(outcome_of("xbc") == -2);
}

#endif

const claim claims[] = {
	{"post, dispatch", a_post_is_later_and_a_dispatch_may_be_here},
	{"overlap", handlers_of_one_resource_never_overlap},
	{"timer", a_timer_of_asio_completes_on_the_resource},
	{"dropped", what_asio_drops_is_cancelled},
	{"closed", a_closed_resource_refuses_handlers},
#if defined(BOOST_ASIO_HAS_CO_AWAIT)
	{"co_spawn", a_coroutine_of_asio_runs_on_the_resource},
#endif
};

} /* namespace */

int main()
{
	return run_claims("cxx_asio", claims);
}
