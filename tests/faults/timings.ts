/** Chooses moments for kills, so that every phase of the work is hit. */
import type { Random } from "../bench/random.ts";

/** How far an upload had come when its process was killed, as what it left behind tells. */
export const PHASES = ["reading", "staging", "processing", "committed"] as const;

/** One of them. */
export type Phase = (typeof PHASES)[number];

/** Earlier kills that are looked at: how long a phase takes changes with the load of the machine. */
const MEMORY = 16;

/** Learns when each phase is, from what earlier kills hit. */
export class Moments {
  readonly hits = new Map<Phase, number>(PHASES.map((phase) => [phase, 0]));
  readonly #random: Random;
  #lengthMs: number;
  #seen: { at: number; phase: Phase | "done" }[] = [];

  /** @param lengthMs how long the work takes, to begin with */
  constructor(random: Random, lengthMs: number) {
    this.#random = random;
    this.#lengthMs = lengthMs;
  }

  /** The next moment, in milliseconds from the start. Half of them anywhere, half at what is rare. */
  next(): number {
    const anywhere = this.#random.next() * this.#lengthMs * 1.05;
    if (this.#random.next() < 0.5) return anywhere;
    const [rarest] = [...this.hits].toSorted(([, a], [, b]) => a - b)[0]!;
    const place = PHASES.indexOf(rarest);
    const isBefore = (phase: Phase | "done") => phase !== "done" && PHASES.indexOf(phase) < place;
    const inside = this.#seen.filter(({ phase }) => phase === rarest).map(({ at }) => at);
    const before = this.#seen.filter(({ phase }) => isBefore(phase)).map(({ at }) => at);
    const after = this.#seen.filter(({ phase }) => phase !== rarest && !isBefore(phase))
      .map(({ at }) => at);
    // Between the last that came too early and the first that came too late; loads vary, so loosely.
    const from = inside.length > 0 ? Math.min(...inside) : quantile(before, 0.9) ?? 0;
    const to = inside.length > 0 ? Math.max(...inside) : quantile(after, 0.1) ?? this.#lengthMs;
    const slack = this.#lengthMs * 0.03;
    return Math.max(0, Math.min(from, to) - slack) +
      this.#random.next() * (Math.abs(to - from) + 2 * slack);
  }

  /** Remembers what a moment hit: `done` when the work was acknowledged before. */
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
