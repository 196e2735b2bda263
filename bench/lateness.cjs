'use strict';
// Loaded before a program, it answers each message: what the process has used, and how late its loop has
// been.
const { monitorEventLoopDelay } = require('node:perf_hooks');

/** The loop is looked at once in this many ms, and a delay includes them. */
const resolution = 10;
const delay = monitorEventLoopDelay({ resolution });
delay.enable();
process.on('message', () => {
  const { user, system } = process.cpuUsage();
  const late = (ns) => Math.max(0, ns / 1e6 - resolution);
  process.send({
    at: Date.now(),
    cpuMs: (user + system) / 1000,
    rssMb: process.memoryUsage.rss() / 1024 / 1024,
    lateMs: late(delay.percentile(99)),
    latestMs: late(delay.max),
  });
  delay.reset();
});
// The channel to the parent must not keep the program alive.
process.channel?.unref();
