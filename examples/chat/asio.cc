/* SPDX-License-Identifier: MIT */
/*
 * The chat server in C++, on Asio: its threads all run one io_context. A room and a client are
 * resources, in the place of strands; a client is a coroutine of Asio's that reads, and a queue of
 * lines that are written. chat.h says what the server does.
 *
 *	asio [PORT]	on 127.0.0.1; prints the port; SIGTERM ends it
 */
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include <boost/asio.hpp>

#include <baton.hpp>
#include <baton/asio.hpp>

namespace asio = boost::asio;
using asio::ip::tcp;

namespace
{

constexpr std::size_t line_max = 512;
constexpr std::size_t lines_waiting = 100; /* for a client that does not read */
constexpr std::size_t name_max = 31;
constexpr std::size_t rooms_max = 64;
constexpr int thread_count = 2;

using line = std::shared_ptr<const std::string>;

void must(std::error_code error)
{
	if (error) {
		std::fprintf(stderr, "chat: %s\n", error.message().c_str());
		std::abort();
	}
}

line line_of(std::string text)
{
	return std::make_shared<const std::string>(std::move(text += '\n'));
}

/* What all share: the threads of the io_context run the resources. */
struct server {
	std::unique_ptr<asio::io_context> io = std::make_unique<asio::io_context>();
	baton::asio_executor<asio::io_context::executor_type> threads{io->get_executor()};
	const baton_resource_config config = baton::with_executor(&threads);
};

/* ---- Clients ---- */

struct client {
	client(server &all, tcp::socket socket)
	    : resource_(all.config), strand_(resource_, *all.io), socket_(std::move(socket))
	{
	}

	/* A client ends in its resource's finaliser: its last owner may be one of its tasks. */
	static std::shared_ptr<client> make(server &all, tcp::socket socket)
	{
		return {new client(all, std::move(socket)), [](client *self) {
				must(self->resource_.close_then([self] { delete self; }));
			}};
	}

	const baton::executor &strand() const
	{
		return strand_;
	}

	/* Any thread: the client's next line. */
	static void send(const std::shared_ptr<client> &self, const line &text)
	{
		must(self->resource_.post([self, text] { self->add(self, text); }));
	}

	/* A task of the client, as what follows. False: the connection is over. */
	asio::awaitable<bool> read(std::string &text)
	{
		for (;;) {
			if (const auto end = read_.find('\n'); end != std::string::npos) {
				text = read_.substr(0, std::min(end, line_max - 1));
				read_.erase(0, end + 1);
				co_return true;
			}
			boost::system::error_code error;
			const std::size_t length = co_await socket_.async_read_some(
				asio::buffer(bytes_),
				asio::redirect_error(asio::use_awaitable, error));

			if (error)
				co_return false;
			read_.append(bytes_.data(), length);
			if (read_.find('\n') == std::string::npos && read_.size() > line_max)
				read_.resize(line_max); /* a longer line is cut */
		}
	}

	void close()
	{
		boost::system::error_code ignored;

		gone_ = true;
		waiting_.clear();
		socket_.close(ignored);
	}

private:
	void add(const std::shared_ptr<client> &self, const line &text)
	{
		if (gone_)
			return;
		if (waiting_.size() >= lines_waiting) {
			missed_++;
			return;
		}
		if (missed_) {
			waiting_.push_back(line_of("* " + std::to_string(missed_) + " missed"));
			missed_ = 0;
		}
		waiting_.push_back(text);
		if (!writing_)
			write(self);
	}

	void write(const std::shared_ptr<client> &self)
	{
		writing_ = waiting_.front();
		waiting_.pop_front();
		asio::async_write(
			socket_, asio::buffer(*writing_),
			asio::bind_executor(strand_,
		                            [self](boost::system::error_code error, std::size_t) {
						    self->writing_ = nullptr;
						    if (!error && !self->waiting_.empty())
							    self->write(self);
					    }));
	}

	baton::resource resource_;
	baton::executor strand_; /* it was: asio::strand<asio::io_context::executor_type> */
	tcp::socket socket_;
	std::array<char, 4096> bytes_;
	std::string read_;
	std::deque<line> waiting_;
	line writing_;
	unsigned missed_ = 0;
	bool gone_ = false;
};

/* ---- Rooms ---- */

struct room {
	baton::resource resource;
	std::set<std::shared_ptr<client>> clients; /* touched by its tasks */

	explicit room(const server &all) : resource(all.config)
	{
	}

	void say(const std::shared_ptr<client> &from, const line &text)
	{
		must(resource.post([this, from, text] {
			for (const std::shared_ptr<client> &each : clients)
				if (each != from)
					client::send(each, text);
		}));
	}
};

struct directory {
	std::map<std::string, room> rooms; /* touched by its tasks */
	baton::resource resource;

	room *find(const server &all, const std::string &name)
	{
		return resource.call([&]() -> room * {
			if (rooms.size() == rooms_max && !rooms.count(name))
				return nullptr;
			return &rooms.try_emplace(name, all).first->second;
		});
	}
};

/* ---- A connection ---- */

asio::awaitable<void> serve(server &all, directory &rooms, std::shared_ptr<client> self)
{
	std::string text;

	if (!co_await self->read(text))
		co_return;
	room *in = rooms.find(all, text.substr(0, name_max));
	if (in)
		in->resource.call([&] { in->clients.insert(self); });
	client::send(self, line_of(in ? "* welcome" : "* full"));
	while (co_await self->read(text))
		if (in)
			in->say(self, line_of(text));
	self->close();
	if (in)
		must(in->resource.post([in, self] { in->clients.erase(self); }));
}

asio::awaitable<void> accepts(server &all, directory &rooms, tcp::acceptor &acceptor)
{
	for (;;) {
		auto self = client::make(all, co_await acceptor.async_accept(asio::use_awaitable));

		asio::co_spawn(self->strand(), serve(all, rooms, self), asio::detached);
	}
}

} /* namespace */

int main(int argc, char **argv)
{
	server all;
	directory rooms;

	{
		const auto port = static_cast<unsigned short>(argc > 1 ? std::atoi(argv[1]) : 0);
		tcp::acceptor acceptor(*all.io, {asio::ip::address_v4::loopback(), port});
		asio::signal_set signals(*all.io, SIGINT, SIGTERM);
		std::array<std::thread, thread_count> threads;

		signals.async_wait([&](boost::system::error_code, int) { all.io->stop(); });
		asio::co_spawn(*all.io, accepts(all, rooms, acceptor), asio::detached);
		std::printf("%u\n", unsigned{acceptor.local_endpoint().port()});
		std::fflush(stdout);
		for (std::thread &thread : threads)
			thread = std::thread([&] { all.io->run(); });
		for (std::thread &thread : threads)
			thread.join();
	}
	/* Nothing runs any more. The context destroys what waits in it: connections, and jobs of
	 * resources, which are cancelled. So it ends before the resources do. */
	for (auto &each : rooms.rooms)
		each.second.clients.clear();
	all.io.reset();
}
