/** Memory and file handles of a process, from /proc. */

/** Memory and handles of a process at one time. */
export interface Usage {
  megabytes: number;
  /** Open files and connections. */
  handles: number;
}

/** Memory and handles of a process of this machine. */
export async function usageOf(pid: number): Promise<Usage> {
  const status = await Deno.readTextFile(`/proc/${pid}/status`);
  const kilobytes = Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]);
  let handles = 0;
  for await (const _ of Deno.readDir(`/proc/${pid}/fd`)) handles++;
  return { megabytes: Math.round(kilobytes / 1024), handles };
}

/** Memory of a process and its children: pages that they share count once. */
export async function familyMegabytes(pid: number): Promise<number> {
  let kilobytes = 0;
  for await (const { name } of Deno.readDir("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const status = await Deno.readTextFile(`/proc/${name}/status`);
      const parent = /^PPid:\s+(\d+)$/m.exec(status)?.[1];
      if (Number(name) !== pid && Number(parent) !== pid) continue;
      const rollup = await Deno.readTextFile(`/proc/${name}/smaps_rollup`);
      kilobytes += Number(/^Pss:\s+(\d+) kB$/m.exec(rollup)?.[1] ?? 0);
    } catch (error) {
      // It ended meanwhile.
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    }
  }
  return Math.round(kilobytes / 1024);
}

/** Such as `memory 210, 240, 238 MB; handles 30, 5030, 30`: before, during, after. */
export function usageText(usages: readonly Usage[]): string {
  const memory = usages.map(({ megabytes }) => megabytes).join(", ");
  const handles = usages.map((usage) => usage.handles).join(", ");
  return `memory ${memory} MB, handles ${handles}`;
}

/** Durations of requests sent one after the other, in milliseconds, sorted. */
export async function latencies(
  url: string,
  { token, count }: { token: string; count: number },
): Promise<number[]> {
  const taken: number[] = [];
  for (let i = 0; i < count; i++) {
    const begun = performance.now();
    const response = await fetch(url, { headers: { authorization: `Bearer ${token}` } });
    await response.arrayBuffer();
    if (response.status !== 200) throw new Error(`${url}: status ${response.status}`);
    taken.push(performance.now() - begun);
  }
  return taken.sort((a, b) => a - b);
}

/** Such as `0.4/2.1 ms`: the median and the slowest of a hundred. */
export function latencyText(sorted: readonly number[]): string {
  const at = (share: number) => sorted[Math.floor(share * (sorted.length - 1))]!.toFixed(1);
  return `${at(0.5)}/${at(0.99)} ms`;
}
