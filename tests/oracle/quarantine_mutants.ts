/** Definitions of quarantine with one mistake each. */
import type { OracleClass } from "./in_memory_model.ts";
import type { KnownTest, PlainSubmission } from "./model.ts";
import { Oracle, type Row } from "./oracle.ts";
import { type PlainPolicy, PolicyRules } from "./policy_rules.ts";
import { type LoggedEvent, logWithEnds, type PlainQuarantine } from "./quarantines.ts";

/** The wrong definitions by their mistake. */
export const QUARANTINE_MUTANTS: Record<string, OracleClass> = {
  "a test is quarantined in the second of its end": class extends Oracle {
    override isActive({ expiresAt }: PlainQuarantine): boolean {
      return expiresAt === null || this.now <= expiresAt;
    }
  },
  "a quarantine ends a second early": class extends Oracle {
    override isActive({ expiresAt }: PlainQuarantine): boolean {
      return expiresAt === null || this.now < expiresAt - 1;
    }
  },
  "a quarantine never ends": class extends Oracle {
    override isActive(): boolean {
      return true;
    }
  },
  "the log has no ends": class extends Oracle {
    override quarantineLog(): LoggedEvent[] {
      return this.state.quarantineLog;
    }
  },
  "entries that were removed end in the log": class extends Oracle {
    override quarantineLog(): LoggedEvent[] {
      const { quarantineLog } = this.state;
      const remaining = quarantineLog.filter(({ action }) => action !== "removed");
      const removals = quarantineLog.filter(({ action }) => action === "removed");
      return [...removals, ...logWithEnds(remaining, this.now)];
    }
  },
  "the log has an end a second late": class extends Oracle {
    override quarantineLog(): LoggedEvent[] {
      return logWithEnds(this.state.quarantineLog, this.now - 1);
    }
  },
  "outages count": rulesWith((Rules) =>
    class extends Rules {
      override isMassFailure(): boolean {
        return false;
      }
    }
  ),
  "a fifth of failed tests is an outage": rulesWith((Rules) =>
    class extends Rules {
      override isMassFailure(submission: PlainSubmission): boolean {
        const failed = submission.results.filter(({ conclusion }) => conclusion !== "passing");
        return submission.results.length >= 20 && failed.length * 5 >= submission.results.length;
      }
    }
  ),
  "broken tests enter": rulesWith((Rules) =>
    class extends Rules {
      override isBroken(): boolean {
        return false;
      }
    }
  ),
  "a test that passed exactly half of its last results is broken": rulesWith((Rules) =>
    class extends Rules {
      override isBroken(test: KnownTest): boolean {
        const latest = this.evidence(test).slice(-20);
        return latest.filter((row) => this.oracle.isPositive(row)).length <= latest.length / 2;
      }
    }
  ),
  "a test that left enters by what happened before": rulesWith((Rules) =>
    class extends Rules {
      override leftAt(): number {
        return 0;
      }
    }
  ),
  "a test whose automatic entry ended enters by what happened afterwards": rulesWith((Rules) =>
    class extends Rules {
      override leftAt(test: KnownTest): number {
        const { state, now } = this.oracle;
        const ends = state.quarantines.filter(({ testId, expiresAt }) =>
          testId === test.id && expiresAt !== null && expiresAt <= now
        );
        return Math.max(super.leftAt(test), ...ends.map(({ expiresAt }) => expiresAt ?? 0));
      }
    }
  ),
  "skips are results of the policy": rulesWith((Rules) =>
    class extends Rules {
      override isCounted(): boolean {
        return true;
      }
    }
  ),
  "silence is a pass": rulesWith((Rules) =>
    class extends Rules {
      override isReleased(test: KnownTest): boolean {
        const last = this.oracle.rowsOf(test).findLast((row) => this.oracle.isNegative(row));
        const since = last?.submission.recordedAt ?? this.entryOf(test)?.at ?? Infinity;
        return this.oracle.now - since >= this.policy.releaseAfter;
      }
    }
  ),
  "a test that passed often leaves at once": rulesWith((Rules) =>
    class extends Rules {
      override isReleased(test: KnownTest): boolean {
        const { policy, oracle } = this;
        return new Rules(oracle, { ...policy, releaseAfter: 0 }).isReleased(test);
      }
    }
  ),
  "an automatic entry has no owner": rulesWith((Rules) =>
    class extends Rules {
      override ownerOf(): string | null {
        return null;
      }
    }
  ),
  "places are given by id": rulesWith((Rules) =>
    class extends Rules {
      override compareUrgency(): number {
        return 0;
      }
    }
  ),
  "a test that was broken for a while enters": rulesWith((Rules) =>
    class extends Rules {
      override isOneStretch(): boolean {
        return false;
      }
    }
  ),
  "all results count for a broken test": rulesWith((Rules) =>
    class extends Rules {
      override isBroken(test: KnownTest): boolean {
        const all = this.evidence(test);
        return all.filter((row) => this.oracle.isPositive(row)).length < all.length / 2;
      }
    }
  ),
  "a test that always fails at last on the base branch enters": rulesWith((Rules) =>
    class extends Rules {
      override failsOnBase(): boolean {
        return false;
      }
    }
  ),
  "failures on any branch are failures on the base branch": rulesWith((Rules) =>
    class extends Rules {
      override failsOnBase(test: KnownTest): boolean {
        const rows = this.evidence(test);
        const latest = [...new Map(rows.map((row) => [row.submission.id, row])).values()].slice(-5);
        return latest.length === 5 && latest.every((row) => this.oracle.isNegative(row));
      }
    }
  ),
  "four runs on the base branch are enough": rulesWith((Rules) =>
    class extends Rules {
      override failsOnBase(test: KnownTest): boolean {
        const rows = this.evidence(test).filter((row) => this.isOnBase(row));
        const latest = [...new Map(rows.map((row) => [row.submission.id, row])).values()].slice(-5);
        return latest.length >= 4 && latest.every((row) => this.oracle.isNegative(row));
      }
    }
  ),
  "the first attempt of a run decides": rulesWith((Rules) =>
    class extends Rules {
      override failsOnBase(test: KnownTest): boolean {
        const rows = this.evidence(test).filter((row) => this.isOnBase(row));
        const first = new Map(rows.toReversed().map((row) => [row.submission.id, row]));
        const latest = [...first.values()].reverse().slice(-5);
        return latest.length === 5 && latest.every((row) => this.oracle.isNegative(row));
      }
    }
  ),
  "tests of one name enter": rulesWith((Rules) =>
    class extends Rules {
      override isAmbiguous(): boolean {
        return false;
      }
    }
  ),
  "one change alone has several code versions": rulesWith((Rules) =>
    class extends Rules {
      override isOfChange(): boolean {
        return false;
      }
    }
  ),
  "the base branch is one change": rulesWith((Rules) =>
    class extends Rules {
      override isOfChange({ submission }: Row): boolean {
        return submission.branch !== null;
      }
    }
  ),
  "an unknown branch is one change": rulesWith((Rules) =>
    class extends Rules {
      override isOfChange(row: Row): boolean {
        return row.submission.branch === null || super.isOfChange(row);
      }
    }
  ),
  "the branch with most builds is no change": rulesWith((Rules) =>
    class extends Rules {
      override isOfChange(row: Row): boolean {
        return row.submission.branch !== null && !this.isOnBase(row);
      }
    }
  ),
  "one change is enough for a test that the policy released": rulesWith((Rules) =>
    class extends Rules {
      override isBack(test: KnownTest): boolean {
        const { quarantineLog } = this.oracle.state;
        return quarantineLog.some(({ testId, by }) => testId === test.id && by === "policy") &&
          this.disruptions(test).length > 0;
      }
    }
  ),
  "a test that the policy released is as any other": rulesWith((Rules) =>
    class extends Rules {
      override isBack(): boolean {
        return false;
      }
    }
  ),
  "manual entries leave": rulesWith((Rules) =>
    class extends Rules {
      override entryOf(test: KnownTest): PlainQuarantine | undefined {
        const entry = super.entryOf(test);
        return entry && { ...entry, type: "automatic" };
      }
    }
  ),
};

/** An oracle with another policy. */
function rulesWith(change: (Rules: typeof PolicyRules) => typeof PolicyRules): OracleClass {
  const Rules = change(PolicyRules);
  return class extends Oracle {
    override rules(policy: PlainPolicy): PolicyRules {
      return new Rules(this, policy);
    }
  };
}
