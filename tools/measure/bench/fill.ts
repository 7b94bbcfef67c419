/** Fills a database from several threads, and tells how long it will take. */
import type { Job, Said } from "./fill_worker.ts";

const SAY_EVERY_MS = 5_000;

/**
 * Runs the jobs, one thread for each processor.
 *
 * @returns how many results were stored
 */
export async function runJobs(
  jobs: Job[],
  { expected, report }: { expected: number; report: (line: string) => void },
): Promise<number> {
  const waiting = [...jobs];
  const started = performance.now();
  let stored = 0;
  let saidAt = started;
  const progress = () => {
    const now = performance.now();
    if (now - saidAt < SAY_EVERY_MS) return;
    saidAt = now;
    const perSecond = stored / ((now - started) / 1000);
    const left = Math.max(0, expected - stored) / perSecond;
    report(
      `  ${(stored / 1e6).toFixed(1)} of ${(expected / 1e6).toFixed(1)} million results, ` +
        `${Math.round(perSecond)} per second, about ${Math.round(left)} s left`,
    );
  };
  const work = () =>
    new Promise<void>((resolve, reject) => {
      const worker = new Worker(new URL("./fill_worker.ts", import.meta.url), { type: "module" });
      const next = () => {
        const job = waiting.shift();
        worker.postMessage(job ?? null);
        if (!job) resolve();
      };
      worker.onmessage = ({ data }: MessageEvent<Said>) => {
        if ("failed" in data) {
          worker.terminate();
          return reject(new Error(`filling: ${data.failed}`));
        }
        stored += data.results;
        progress();
        if (data.done) next();
      };
      next();
    });
  await Promise.all(Array.from({ length: navigator.hardwareConcurrency }, work));
  const seconds = (performance.now() - started) / 1000;
  report(`${stored} results stored in ${seconds.toFixed(0)} s`);
  return stored;
}
