'use strict';
// Preloaded into the peers that run on Node: at the exit it adds a line of JSON to the file PEER_USAGE.
const { appendFileSync, readFileSync } = require('node:fs');
const { isMainThread } = require('node:worker_threads');

/** In kB. On Linux a child's rusage begins with its parent's peak; VmHWM does not. */
function peakKb() {
  try {
    return Number(/VmHWM:\s+(\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))[1]);
  } catch {
    return process.resourceUsage().maxRSS;
  }
}

if (isMainThread)
  process.once('exit', () => {
    const { user, system } = process.cpuUsage();
    const usage = { cpuSeconds: (user + system) / 1e6, peakRssMb: peakKb() / 1024 };
    appendFileSync(process.env.PEER_USAGE, `${JSON.stringify(usage)}\n`);
  });
