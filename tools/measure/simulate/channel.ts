/** The messages that a webhook would send in a simulated year, with the rules of the program or others. */
import {
  becomesFlaky,
  CALM_AFTER,
  FLAKY_SINCE,
  OUTAGE_ENDS_AFTER_BUILDS,
  type WindowDisruption,
} from "../../../lib/webhook/events.ts";
import { HOUR } from "./simulated_repository.ts";

/** The rules that are compared. */
export interface ChannelRules {
  /** Disruptions and code versions in the window at which a test is announced as flaky. */
  flakySince: { disruptions: number; codeVersions: number };
  /** Seconds without a failure, and passes in them, after which it is announced as calm. */
  calmAfter: { quietSeconds: number; passes: number };
  outageEndsAfterBuilds: number;
  /** Whether messages of one cause within an hour become one. */
  isGrouped: boolean;
}

export const DEFAULT_CHANNEL: ChannelRules = {
  flakySince: FLAKY_SINCE,
  calmAfter: CALM_AFTER,
  outageEndsAfterBuilds: OUTAGE_ENDS_AFTER_BUILDS,
  isGrouped: true,
};

/** What was sent to a channel. */
export interface ChannelOutcome {
  messages: number;
  /** Most messages in one hour and in one day. */
  mostInHour: number;
  mostInDay: number;
  /** Announcements of a test as flaky, by name. */
  flaky: Map<string, number[]>;
  calm: number;
  outages: number;
}

/** A test with a new disruption. */
export interface DisruptedTest {
  name: string;
  /** Of the latest failure. */
  cause: string;
  /** In the window, outages left out. */
  disruptions: readonly WindowDisruption[];
}

/** A channel that a webhook sends to. */
export class Channel {
  readonly #rules: ChannelRules;
  /** When each flaky test last failed, and how often it passed since. */
  readonly #open = new Map<string, { since: number; passes: number }>();
  readonly #sentAt: number[] = [];
  /** When the latest message of a cause is due. */
  readonly #causes = new Map<string, number>();
  readonly #flaky = new Map<string, number[]>();
  #calm = 0;
  #outages = 0;
  #isOutage = false;
  #normalRuns = 0;

  constructor(rules: ChannelRules) {
    this.#rules = rules;
  }

  /** Adds a build. */
  add(
    { at, isOutage, disrupted, resultsOf }: {
      at: number;
      isOutage: boolean;
      disrupted: readonly DisruptedTest[];
      /** Whether each attempt of a test passed; `[]` when it did not run. */
      resultsOf(name: string): readonly boolean[];
    },
  ): void {
    this.#normalRuns = isOutage ? 0 : this.#normalRuns + 1;
    if (isOutage !== this.#isOutage) {
      if (isOutage || this.#normalRuns >= this.#rules.outageEndsAfterBuilds) {
        this.#isOutage = isOutage;
        if (isOutage) this.#outages++;
        this.#send(isOutage ? "outage started" : "outage ended", at);
      }
    }
    for (const [name, test] of this.#open) {
      const results = resultsOf(name);
      if (results.includes(false)) Object.assign(test, { since: at, passes: 0 });
      else if (results.length > 0) test.passes++;
    }
    for (const { name, cause, disruptions } of disrupted) {
      if (!this.#open.has(name) && this.#becomesFlaky(disruptions)) {
        this.#open.set(name, { since: at, passes: 0 });
        this.#flaky.set(name, [...this.#flaky.get(name) ?? [], at]);
        this.#send(`flaky ${cause}`, at);
      }
    }
    const { quietSeconds, passes } = this.#rules.calmAfter;
    for (const [name, test] of this.#open) {
      if (at - test.since < quietSeconds || test.passes < passes) continue;
      this.#open.delete(name);
      this.#calm++;
      this.#send("calm", at);
    }
  }

  outcome(): ChannelOutcome {
    const most = (seconds: number) => {
      const sorted = this.#sentAt.toSorted((a, b) => a - b);
      return Math.max(
        0,
        ...sorted.map((at, index) =>
          sorted.slice(index).filter((later) => later < at + seconds).length
        ),
      );
    };
    return {
      messages: this.#sentAt.length,
      mostInHour: most(HOUR),
      mostInDay: most(24 * HOUR),
      flaky: this.#flaky,
      calm: this.#calm,
      outages: this.#outages,
    };
  }

  #becomesFlaky(disruptions: readonly WindowDisruption[]): boolean {
    const { flakySince } = this.#rules;
    if (flakySince === FLAKY_SINCE) return becomesFlaky(disruptions);
    const isFlaky = (some: readonly WindowDisruption[]) =>
      some.length >= flakySince.disruptions &&
      new Set(some.map(({ codeVersion }) => codeVersion)).size >= flakySince.codeVersions;
    return isFlaky(disruptions) && !isFlaky(disruptions.filter(({ isNew }) => !isNew));
  }

  /** As the outbox does: what waits for its hour takes up what comes later. */
  #send(cause: string, at: number): void {
    const latest = this.#causes.get(cause);
    if (this.#rules.isGrouped && latest !== undefined) {
      if (latest > at) return;
      // The sender runs: what is due was sent, except in the same second.
      if (latest === at) return;
      at = Math.max(at, latest + HOUR);
    }
    this.#causes.set(cause, at);
    this.#sentAt.push(at);
  }
}
