// Tests: tests/lib/intake/receive/change_quarantine_test.ts
/**
 * Changes of quarantine with a quarantine token. They call functions of the database, which check the
 * token: the role of `receive` may read and write no table.
 */
import {
  activeQuarantine,
  type AddedQuarantine,
  addedQuarantine,
  type Quarantine,
} from "../../lib/analysis/quarantine.ts";
import { testId, type TestIdentity } from "../../lib/base/identity.ts";
import type { RepositoryName } from "../../lib/base/repository_name.ts";
import type { Queryable } from "../connection/sql.ts";
import type { TokenLookUp } from "../read/caller.ts";
import { quarantineColumns } from "../read/fragments.ts";
import type { Origin } from "./changes.ts";
import { changeDetail, type Removal } from "./quarantine.ts";

interface TestByToken extends TokenLookUp {
  idPrefix: number;
  testHash: number;
}

/** A test that is locked until the end of the transaction. */
export interface LockedTest extends TestIdentity {
  /** 24 lower-case hex digits. */
  id: string;
  repository: RepositoryName;
  /** The entry, unless it has ended. */
  active: Quarantine | null;
}

/** Locks a test for a change, in a transaction; `null` unless it exists and the token is for it. */
export async function lockTest(tx: Queryable, by: TestByToken): Promise<LockedTest | null> {
  const [row] = await tx<(TestIdentity & RepositoryRow & Quarantine)[]>`
    select owner, repository_name as "repositoryName", suite, class, name, file,
      ${quarantineColumns(tx)}
    from lock_test(${by.hash}, to_timestamp(${by.now}::float8), ${by.idPrefix}, ${by.testHash}) q`;
  if (!row) return null;
  const { owner, repositoryName, suite, class: className, name, file, ...entry } = row;
  return {
    id: testId(by.idPrefix, by.testHash),
    repository: { owner, name: repositoryName },
    suite,
    class: className,
    name,
    file,
    active: entry.quarantinedAt === null ? null : activeQuarantine(entry, by.now),
  };
}

type RepositoryRow = { owner: string; repositoryName: string };

/** Quarantines a locked test as `addQuarantine` does. */
export async function addQuarantineByToken(
  tx: Queryable,
  by: TestByToken,
  { test, entry, origin }: { test: LockedTest; entry: Quarantine; origin: Origin },
): Promise<AddedQuarantine> {
  const added = addedQuarantine(test.active, entry);
  const { outcome: action, quarantine } = added;
  if (action === "unchanged") return added;
  const detail = changeDetail(test, { by: entry.quarantinedBy, action, quarantine });
  await changeByToken(tx, by, { entry: quarantine, line: { ...origin, subject: test.id, detail } });
  return added;
}

/** Ends the quarantine of a locked test; false when it was not quarantined. */
export async function removeQuarantineByToken(
  tx: Queryable,
  by: TestByToken,
  { test, removal, origin }: { test: LockedTest; removal: Removal; origin: Origin },
): Promise<boolean> {
  if (test.active === null) return false;
  const detail = changeDetail(test, {
    by: removal.removedBy,
    action: "removed",
    quarantine: { ...test.active, quarantineReason: removal.reason },
  });
  await changeByToken(tx, by, { entry: null, line: { ...origin, subject: test.id, detail } });
  return true;
}

async function changeByToken(
  tx: Queryable,
  { hash, now, idPrefix, testHash }: TestByToken,
  { entry, line }: { entry: Quarantine | null; line: unknown },
): Promise<void> {
  const stored = entry && JSON.stringify(entry);
  await tx`
    select change_quarantine(${hash}, to_timestamp(${now}::float8), ${idPrefix}, ${testHash},
      ${stored}::text::jsonb, ${JSON.stringify(line)}::text::jsonb)`;
}
