/** What a stretch of work cost this process. */
export interface Measured {
  readonly wallMs: number;
  /** CPU of the whole process, user and system: our code, got, SQLite's thread-less work, the kernel's share of sockets and files, V8's helper threads. */
  readonly cpuMs: number;
  /** The part of it on the main thread. */
  readonly mainThreadMs: number;
  /** The most memory that the process ever held, its start included. */
  readonly peakRssMb: number;
}

/** Starts measuring; the function that comes back ends it. */
export function startMeter(): () => Measured {
  // What the start left behind is not this work's to clear away.
  globalThis.gc?.();
  const cpu = process.cpuUsage();
  const thread = process.threadCpuUsage();
  const from = performance.now();
  return () => ({
    wallMs: performance.now() - from,
    cpuMs: total(process.cpuUsage(cpu)),
    mainThreadMs: total(process.threadCpuUsage(thread)),
    // In kB everywhere. On Linux a child inherits its parent's peak; the parent here is a small process that only waits.
    peakRssMb: process.resourceUsage().maxRSS / 1024,
  });
}

export function cpuMs(): number {
  return total(process.cpuUsage());
}

export function rssMb(): number {
  return process.memoryUsage.rss() / 1024 / 1024;
}

function total({ user, system }: { user: number; system: number }): number {
  return (user + system) / 1000;
}
