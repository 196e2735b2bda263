/** The cost of some work in this process. */
export interface Measured {
  readonly wallMs: number;
  /**
   * CPU time of the whole process, user and system: our code, got, SQLite, the kernel's share of sockets and
   * files, V8's helper threads.
   */
  readonly cpuMs: number;
  /** The part of `cpuMs` on the main thread. */
  readonly mainThreadMs: number;
  /** The largest memory of the process, its start included. */
  readonly peakRssMb: number;
}

/** Starts to measure. The returned function ends it. */
export function startMeter(): () => Measured {
  // Garbage from the start of the process must not count as a cost of this work.
  globalThis.gc?.();
  const cpu = process.cpuUsage();
  const thread = process.threadCpuUsage();
  const from = performance.now();
  return () => ({
    wallMs: performance.now() - from,
    cpuMs: total(process.cpuUsage(cpu)),
    mainThreadMs: total(process.threadCpuUsage(thread)),
    // In kB on every platform. On Linux a child inherits its parent's peak, which is small here.
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
