// SPDX-License-Identifier: MIT
// MQTT.js against a broker: QoS 0, 1, 2, a retained message, a will, a kept session.
// test_tools.c runs this: PORT=1883 node tools.js STORY, with mqtt where NODE_PATH says.
'use strict';

const mqtt = require('mqtt');
const assert = require('assert');
const story = process.argv[2];
const url = `mqtt://127.0.0.1:${process.env.PORT}`;

function connect(id, options) {
	const client = mqtt.connect(url, {
		clientId: `${story}-${id}`,
		protocolVersion: 4,
		reconnectPeriod: 0,
		...options,
	});

	client.messages = [];
	client.waiting = null;
	client.on('message', (topic, payload, packet) => {
		client.messages.push([topic.slice(story.length + 1), payload.toString(),
			packet.qos, packet.retain]);
		if (client.waiting)
			client.waiting();
	});
	return new Promise((resolve, reject) => {
		client.once('error', reject);
		client.once('connect', (connack) => {
			client.present = connack.sessionPresent;
			resolve(client);
		});
	});
}

// The next `count` messages.
async function take(client, count) {
	while (client.messages.length < count)
		await new Promise((resolve) => {
			client.waiting = resolve;
		});
	return client.messages.splice(0, count);
}

async function main() {
	const publisher = await connect('publisher');
	const topic = (name) => `${story}/${name}`;

	for (const qos of [0, 1, 2]) {
		const subscriber = await connect(`subscriber${qos}`);
		const granted = await subscriber.subscribeAsync(topic('q'), {qos});

		assert.strictEqual(granted[0].qos, qos);
		for (let i = 0; i < 100; i++)
			await publisher.publishAsync(topic('q'), `${i}`, {qos});
		const messages = await take(subscriber, 100);
		messages.forEach((message, i) =>
			assert.deepStrictEqual(message, ['q', `${i}`, qos, false]));
		await subscriber.endAsync();
	}

	await publisher.publishAsync(topic('r'), 'kept', {qos: 1, retain: true});
	const late = await connect('late');
	await late.subscribeAsync({[topic('r')]: {qos: 2}, [topic('w')]: {qos: 2}});
	assert.deepStrictEqual(await take(late, 1), [['r', 'kept', 1, true]]);

	const dying = await connect('dying', {will: {topic: topic('w'), payload: 'bye', qos: 2}});
	dying.stream.destroy();
	assert.deepStrictEqual(await take(late, 1), [['w', 'bye', 2, false]]);

	const kept = await connect('kept', {clean: false});
	assert.strictEqual(kept.present, false);
	await kept.subscribeAsync(topic('s'), {qos: 2});
	await kept.endAsync();
	for (let i = 0; i < 10; i++)
		await publisher.publishAsync(topic('s'), `${i}`, {qos: 2});
	const again = await connect('kept', {clean: false});
	assert.strictEqual(again.present, true);
	const messages = await take(again, 10);
	messages.forEach((message, i) =>
		assert.deepStrictEqual(message, ['s', `${i}`, 2, false]));
	process.exit(0);
}

main().catch((error) => {
	process.stdout.write(`${error.message}`.split('\n').join(' '));
	process.exit(1);
});
