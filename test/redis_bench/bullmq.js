// SPDX-License-Identifier: MIT
// The same load on BullMQ: node bullmq.js SOCKET rate|latency|trips TASKS WORKERS. One process has
// the producers, another the worker, which runs WORKERS jobs at once.
'use strict';
const { fork } = require('child_process');
const IORedis = require('ioredis');
const { Queue, Worker } = require('bullmq');

const [socket, what, tasks, workers, child] = process.argv.slice(2);
const count = Number(tasks);
const connection = { path: socket, maxRetriesPerRequest: null };
let commands = 0;
const send = IORedis.prototype.sendCommand;
IORedis.prototype.sendCommand = function (...words) {
	commands++;
	return send.apply(this, words);
};

const clock = () => Number(process.hrtime.bigint()) / 1000; // us, the same in both processes
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

async function work() {
	const waits = [];
	let begin;
	const worker = new Worker('bench', async (job) => {
		waits.push(clock() - job.data.at);
	}, { connection, concurrency: Number(workers) });
	worker.on('completed', () => {
		process.send({ done: 1 });
		if (waits.length === count && worker.left !== true) {
			worker.left = true;
			process.send({ waits, commands: commands - begin });
		}
	});
	await worker.waitUntilReady();
	await pause(300);
	begin = commands;
	process.send({ ready: true });
}

async function main() {
	const queue = new Queue('bench', { connection });
	const other = fork(__filename, [...process.argv.slice(2), 'child']);
	let done = 0;
	let wake = () => {};
	let end;
	const result = new Promise((resolve) => { end = resolve; });
	await queue.waitUntilReady();
	await new Promise((resolve) => other.on('message', (message) => {
		if (message.ready) resolve();
		if (message.done) { done++; wake(); }
		if (message.waits) end(message);
	}));
	const began = clock();
	const first = commands;
	const options = { removeOnComplete: true };
	const add = () => queue.add('job', { at: clock() }, options);
	if (what === 'rate') {
		await Promise.all([0, 1, 2, 3].map(async (producer) => {
			for (let i = producer; i < count; i += 4) await add();
		}));
	} else {
		for (let i = 0; i < count; i++) {
			if (what === 'latency') {
				await pause(Math.max(0, (began + i * 2000 - clock()) / 1000));
				await add();
			} else {
				const over = new Promise((resolve) => { wake = resolve; });
				await add();
				if (done <= i) await over;
			}
		}
	}
	const { waits, commands: theirs } = await result;
	const seconds = (clock() - began) / 1e6;
	waits.sort((a, b) => a - b);
	if (what === 'latency')
		console.log([waits[count >> 1], waits[Math.floor(count * 0.99)], waits[count - 1]]
			.map(Math.round).join(' '));
	else
		console.log([...(what === 'rate' ? [Math.round(count / seconds)] : []),
			((commands - first) / count).toFixed(2), '0.00',
			(theirs / count).toFixed(2)].join(' '));
	other.kill();
	process.exit(0);
}

(child ? work() : main()).catch((error) => {
	console.error(`bullmq: ${error.message}`);
	process.exit(1);
});
