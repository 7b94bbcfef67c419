/** Clients of a service: at saturation, or at a fixed rate. */
import type { Random } from "../bench/random.ts";
import type { Service } from "../faults/requests.ts";
import { pause } from "../../../lib/base/delay.ts";

/** Figures since the last sample. */
export interface LoadFigures {
  rps: number;
  p50Ms: number;
  p99Ms: number;
  worstMs: number;
  /** Wrong responses, and requests without a response. */
  failed: number;
  /** Requests with a wrong token that got their 401. */
  refused: number;
}

/** Running clients. */
export interface Load {
  /** Figures since the previous call. */
  take(): LoadFigures;
  /** Resolves when every client has its last response. */
  stop(): Promise<Load>;
}

const CLIENTS = 16;
/** Share of requests with a token that does not exist. */
const WRONG_TOKENS = 0.1;
/** Share of requests with a URL that was not requested before. */
const UNIQUE_URLS = 0.2;

/** Starts the clients. Each sends one request after the other. */
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
  const target = () =>
    random.next() < UNIQUE_URLS
      ? `/api/repos/${repository}/tests?q=${random.hex(12)}`
      : targets[random.below(targets.length)]!;
  let durations: number[] = [];
  let failed = 0;
  let refused = 0;
  let since = performance.now();
  let isStopped = false;

  const send = async () => {
    const isWrong = random.next() < WRONG_TOKENS;
    const sent = isWrong ? `tk_${random.hex(64)}` : token;
    const begun = performance.now();
    try {
      const response = await fetch(`${url}${target()}`, {
        headers: { authorization: `Bearer ${sent}` },
      });
      await response.arrayBuffer();
      if (response.status !== (isWrong ? 401 : 200)) failed++;
      else if (isWrong) refused++;
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
      await send();
    }
  }));

  const load: Load = {
    take() {
      const sorted = durations.sort((a, b) => a - b);
      const at = (share: number) => sorted[Math.floor(share * (sorted.length - 1))] ?? 0;
      const figures = {
        rps: sorted.length * 1_000 / (performance.now() - since),
        p50Ms: at(0.5),
        p99Ms: at(0.99),
        worstMs: at(1),
        failed,
        refused,
      };
      durations = [];
      failed = 0;
      refused = 0;
      since = performance.now();
      return figures;
    },
    async stop() {
      isStopped = true;
      await clients;
      return load;
    },
  };
  return load;
}
