/** Clients of a service: at saturation, or at a fixed rate. */
import type { Random } from "../bench/random.ts";
import type { Service } from "../faults/requests.ts";
import { pause } from "../e2e/launch.ts";

/** Figures since the last sample. */
export interface LoadFigures {
  rps: number;
  p50Ms: number;
  p99Ms: number;
  worstMs: number;
  /** Responses other than 200, and requests without a response. */
  failed: number;
}

/** Running clients. */
export interface Load {
  /** Figures since the previous call. */
  take(): LoadFigures;
  /** Resolves when every client has its last response. */
  stop(): Promise<Load>;
}

const CLIENTS = 16;

/** Starts the clients. Each sends one request after the other; some have a new query. */
export function startLoad(
  { url, token }: Service,
  { repository, random, rate = Infinity }: {
    repository: string;
    random: Random;
    /** Requests per second of all clients. */
    rate?: number;
  },
): Load {
  const targets = [
    `/api/repos/${repository}/submissions`,
    `/api/repos/${repository}/tests`,
    `/api/v1/flaky/tests?quarantine=false&include=tags,disruptiveness_ratio`,
    `/api/v1/flaky/badges?repository=${repository}`,
    `/api/v1/coverage/badges?repository=${repository}`,
  ];
  const target = () => {
    const index = Math.floor(random.next() * (targets.length + 1));
    return targets[index] ??
      `/api/repos/${repository}/tests?q=${Math.floor(random.next() * 1e9).toString(36)}`;
  };
  let durations: number[] = [];
  let failed = 0;
  let since = performance.now();
  let isStopped = false;

  const ask = async () => {
    const begun = performance.now();
    try {
      const response = await fetch(`${url}${target()}`, {
        headers: { authorization: `Bearer ${token}` },
      });
      await response.arrayBuffer();
      if (response.status !== 200) failed++;
    } catch {
      failed++;
    }
    durations.push(performance.now() - begun);
  };
  const everyMs = rate === Infinity ? 0 : CLIENTS * 1_000 / rate;
  const clients = Promise.all(Array.from({ length: CLIENTS }, async (_, client) => {
    let next = performance.now() + client * everyMs / CLIENTS;
    while (!isStopped) {
      const early = next - performance.now();
      // Timers are precise to a millisecond only: a late client catches up.
      if (early > 1) await pause(early);
      next = Math.max(next + everyMs, performance.now() - 1_000);
      await ask();
    }
  }));

  const load: Load = {
    take() {
      const sorted = durations.sort((a, b) => a - b);
      const at = (share: number) => sorted[Math.floor(share * (sorted.length - 1))] ?? 0;
      const seen = {
        rps: sorted.length * 1_000 / (performance.now() - since),
        p50Ms: at(0.5),
        p99Ms: at(0.99),
        worstMs: at(1),
        failed,
      };
      durations = [];
      failed = 0;
      since = performance.now();
      return seen;
    },
    async stop() {
      isStopped = true;
      await clients;
      return load;
    },
  };
  return load;
}
