/** Chooses the times of kills so that every phase of the work is hit. */
import type { Random } from "../bench/random.ts";

/** The phase of an upload when its process was killed, as the database showed. */
export const PHASES = ["reading", "storing", "committed"] as const;

export type Phase = (typeof PHASES)[number];

/** Number of earlier kills considered: the duration of a phase changes with the load. */
const MEMORY = 16;

/** Learns from earlier kills when each phase happens. */
export class KillTimings {
  readonly hits = new Map<Phase, number>(PHASES.map((phase) => [phase, 0]));
  readonly #random: Random;
  #lengthMs: number;
  #seen: { at: number; phase: Phase | "done" }[] = [];

  /** @param lengthMs initial estimate of the duration of the work */
  constructor(random: Random, lengthMs: number) {
    this.#random = random;
    this.#lengthMs = lengthMs;
  }

  /** The next kill, in milliseconds from the start: half of them uniform, half aimed at the rarest phase. */
  next(): number {
    const anywhere = this.#random.next() * this.#lengthMs * 1.05;
    if (this.#random.next() < 0.5) return anywhere;
    const [rarest] = [...this.hits].toSorted(([, a], [, b]) => a - b)[0]!;
    const runDatabase = PHASES.indexOf(rarest);
    const isBefore = (phase: Phase | "done") =>
      phase !== "done" && PHASES.indexOf(phase) < runDatabase;
    const inside = this.#seen.filter(({ phase }) => phase === rarest).map(({ at }) => at);
    const before = this.#seen.filter(({ phase }) => isBefore(phase)).map(({ at }) => at);
    const after = this.#seen.filter(({ phase }) => phase !== rarest && !isBefore(phase))
      .map(({ at }) => at);
    // Between the latest early miss and the earliest late one, with slack because loads vary.
    const from = inside.length > 0 ? Math.min(...inside) : quantile(before, 0.9) ?? 0;
    const to = inside.length > 0 ? Math.max(...inside) : quantile(after, 0.1) ?? this.#lengthMs;
    const slack = this.#lengthMs * 0.03;
    return Math.max(0, Math.min(from, to) - slack) +
      this.#random.next() * (Math.abs(to - from) + 2 * slack);
  }

  /** Records the phase of a kill: `done` when the work was acknowledged before it. */
  hit(at: number, phase: Phase | "done"): void {
    this.#seen = [...this.#seen, { at, phase }].slice(-MEMORY);
    if (phase === "done") this.#lengthMs = Math.max(0.85 * this.#lengthMs, 100);
    else if (at > 0.7 * this.#lengthMs) this.#lengthMs *= 1.25;
    if (phase !== "done") this.hits.set(phase, (this.hits.get(phase) ?? 0) + 1);
  }
}

function quantile(values: readonly number[], share: number): number | undefined {
  return values.toSorted((a, b) => a - b)[Math.floor(share * (values.length - 1))];
}
