// SPDX-License-Identifier: MIT
// MQTT.js against a broker, as a program would use it; test_tools.c runs this with its story's name:
//
//	PORT=1883 NODE_PATH=build/mqttjs/node_modules node tools.js STORY
//
// Ends with status 0, or with one line that says what went wrong.
'use strict';

const mqtt = require('mqtt');
const assert = require('assert');
const story = process.argv[2];
const url = `mqtt://127.0.0.1:${process.env.PORT}`;
const topic = (name) => `${story}/${name}`;
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const event = (emitter, name) => new Promise((resolve) => emitter.once(name, resolve));

function connect(id, options) {
	const client = mqtt.connect(url, {
		clientId: `${story}-${id}`,
		protocolVersion: 4,
		reconnectPeriod: 0,
		...options,
	});

	client.messages = [];
	client.on('message', (name, payload, packet) => {
		client.messages.push([name.slice(story.length + 1), payload.toString(), packet.qos,
			packet.retain]);
		client.emit('arrived');
	});
	return new Promise((resolve, reject) => {
		client.once('error', reject);
		client.once('connect', (connack) => {
			client.present = connack.sessionPresent;
			resolve(client);
		});
	});
}

// The next messages are these.
async function expect(client, ...messages) {
	while (client.messages.length < messages.length)
		await event(client, 'arrived');
	assert.deepStrictEqual(client.messages.splice(0, messages.length), messages);
}

const numbered = (name, count, qos) =>
	Array.from({length: count}, (_, i) => [name, `${i}`, qos, false]);

// At once: mosquitto loses what is beyond its window.
async function publishNumbered(client, name, count, qos) {
	await Promise.all(numbered(name, count, qos).map(([, payload]) =>
		client.publishAsync(topic(name), payload, {qos})));
}

const tests = {
	// What is delivered has the lower QoS of both.
	async qos(publisher) {
		for (const granted of [0, 1, 2]) {
			const subscriber = await connect(`qos${granted}`);
			const answer = await subscriber.subscribeAsync(topic('q'), {qos: granted});

			assert.strictEqual(answer[0].qos, granted);
			for (const qos of [0, 1, 2]) {
				await publishNumbered(publisher, 'q', 20, qos);
				await expect(subscriber,
					...numbered('q', 20, Math.min(qos, granted)));
			}
			await subscriber.endAsync();
		}
	},

	async unsubscribe(publisher) {
		const subscriber = await connect('unsubscribe');

		await subscriber.subscribeAsync([topic('u/+'), topic('v')], {qos: 1});
		await publisher.publishAsync(topic('u/1'), 'a', {qos: 1});
		await expect(subscriber, ['u/1', 'a', 1, false]);
		await subscriber.unsubscribeAsync(topic('u/+'));
		await publisher.publishAsync(topic('u/1'), 'b', {qos: 1});
		await publisher.publishAsync(topic('v'), 'c', {qos: 1});
		await expect(subscriber, ['v', 'c', 1, false]);
	},

	async retained(publisher) {
		const retain = (name, payload) =>
			publisher.publishAsync(topic(name), payload, {qos: 1, retain: true});

		await retain('r/1', 'kept');
		await retain('r/2', 'gone');
		await retain('r/2', '');
		const late = await connect('late');
		await late.subscribeAsync(topic('r/#'), {qos: 2});
		await retain('r/3', 'new');
		await expect(late, ['r/1', 'kept', 1, true], ['r/3', 'new', 1, false]);
	},

	// Of who vanishes; not of who says good-bye.
	async will() {
		const heir = await connect('heir');
		const will = (payload) => ({will: {topic: topic('w'), payload, qos: 2}});

		await heir.subscribeAsync(topic('w'), {qos: 2});
		await (await connect('leaving', will('no'))).endAsync();
		(await connect('dying', will('bye'))).stream.destroy();
		await expect(heir, ['w', 'bye', 2, false]);
	},

	async session(publisher) {
		const kept = await connect('kept', {clean: false});

		assert.strictEqual(kept.present, false);
		await kept.subscribeAsync(topic('s'), {qos: 2});
		await kept.endAsync();
		await publishNumbered(publisher, 's', 20, 1);
		await publishNumbered(publisher, 's', 20, 2);
		const again = await connect('kept', {clean: false});
		assert.strictEqual(again.present, true);
		await expect(again, ...numbered('s', 20, 1), ...numbered('s', 20, 2));
		await again.endAsync();
		assert.strictEqual((await connect('kept', {clean: true})).present, false);
	},

	async takeOver(publisher) {
		const first = await connect('double', {clean: false});

		await first.subscribeAsync(topic('d'), {qos: 1});
		const closed = event(first, 'close');
		const second = await connect('double', {clean: false});
		assert.strictEqual(second.present, true);
		await closed;
		await publisher.publishAsync(topic('d'), 'x', {qos: 1});
		await expect(second, ['d', 'x', 1, false]);
	},

	// It pings each second, and gives up without an answer; the broker would after 2.5.
	async keepAlive(publisher) {
		const quiet = await connect('quiet', {keepalive: 2});

		await quiet.subscribeAsync(topic('k'), {qos: 0});
		await sleep(6000);
		assert(quiet.connected, 'disconnected in spite of its pings');
		await publisher.publishAsync(topic('k'), 'x', {qos: 1});
		await expect(quiet, ['k', 'x', 0, false]);
	},

	async large(publisher) {
		const subscriber = await connect('large');
		const payload = 'x'.repeat(1000000);

		await subscriber.subscribeAsync(topic('l'), {qos: 2});
		for (const qos of [0, 1, 2]) {
			await publisher.publishAsync(topic('l'), payload, {qos});
			await expect(subscriber, ['l', payload, qos, false]);
		}
	},

	// Both lose their connections at each step of a handshake, again and again.
	async broken() {
		const options = {clean: false, reconnectPeriod: 10};
		const subscriber = await connect('broken-subscriber', options);
		const publisher = await connect('broken-publisher', options);
		const breakAt = (client, when, command) => {
			let count = 0;

			client.on(when, (packet) => {
				if (packet.cmd === command && ++count % 7 === 3)
					client.stream.destroy();
			});
		};

		await subscriber.subscribeAsync(topic('b'), {qos: 2});
		for (const step of ['publish', 'pubrel']) {
			breakAt(subscriber, 'packetreceive', step);
			breakAt(publisher, 'packetsend', step);
		}
		for (const step of ['pubrec', 'pubcomp']) {
			breakAt(subscriber, 'packetsend', step);
			breakAt(publisher, 'packetreceive', step);
		}
		for (let i = 0; i < 60; i++)
			await publisher.publishAsync(topic('b'), `${i}`, {qos: 2});
		await expect(subscriber, ...numbered('b', 60, 2));
		await sleep(100);
		assert.deepStrictEqual(subscriber.messages, []);
	},
};

function end(problem) {
	process.stdout.write(problem.split('\n').join(' '));
	process.exit(problem === '' ? 0 : 1);
}

async function main() {
	const waiting = new Set(Object.keys(tests));

	setTimeout(() => end(`still waiting: ${[...waiting].join(', ')}`),
		25000 * (process.env.E2E_SCALE || 1));
	await Promise.all(Object.entries(tests).map(async ([name, run]) => {
		const publisher = await connect(`${name}-publisher`);

		await run(publisher).catch((error) => end(`${name}: ${error.message}`));
		waiting.delete(name);
	}));
	end('');
}

main().catch((error) => end(error.message));
