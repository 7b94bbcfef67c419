import * as v from "valibot";
import {
  addQuarantine,
  findTest,
  listQuarantined,
  removeQuarantine,
  type StoredTest,
} from "../../../db/admin/quarantine.ts";
import { listQuarantineLog } from "../../../db/admin/quarantine.ts";
import type { Queryable } from "../../../db/connection/sql.ts";
import { writeTransaction } from "../../../db/write/transaction.ts";
import { testId } from "../../base/identity.ts";
import { formatTimestamp } from "../../base/time.ts";
import { type AddCommand, command, group } from "../command.ts";
import { argument, option } from "../parameters.ts";
import { Failure, UsageError } from "../errors.ts";
import {
  openOrganization,
  ORG,
  quarantineRecord,
  testRecord,
  timestampOrNull,
} from "../resources.ts";
import { applyCommand, policyCommands } from "./quarantine_policy.ts";
import { end, lineOfText, oneOf, testIdentifier } from "../values.ts";

const TEST = argument("test id, 24 hex digits", testIdentifier);

const addCommand = command({
  name: "add",
  summary: "Quarantine a test, or change its reason, owner or end; prints its id",
  example: "quarantine add 0123456789abcdef01234567 --by ada --expires 30d",
  details: [
    "A test that is quarantined already keeps its date, author and type. From the second of its end on " +
    "a test is no longer quarantined.",
  ],
  input: {
    testId: TEST,
    by: option("<who>", "who quarantines it", v.optional(lineOfText)),
    type: option(
      "<type>",
      "manual or automatic (default: manual)",
      v.optional(oneOf(["manual", "automatic"]), "manual"),
    ),
    reason: option("<text>", "why", v.optional(lineOfText)),
    owner: option("<who>", "who fixes the test", v.optional(lineOfText)),
    expires: option("<when>", "its end: 30d, or RFC 3339 (default: never)", v.optional(end)),
  },
  async run({ testId: parts, by, type, reason, owner, expires }, context) {
    const { now } = context;
    const expiresAt = expires?.(now) ?? null;
    if (expiresAt !== null && expiresAt <= now) {
      throw new UsageError(
        `--expires: "${formatTimestamp(expiresAt)}" is not after ${formatTimestamp(now)}`,
      );
    }
    const { sql } = await context.openDatabase();
    const test = await requireTest(sql, parts);
    const origin = await context.origin();
    const result = await writeTransaction(sql, (tx) =>
      addQuarantine(tx, test, {
        quarantinedAt: now,
        quarantinedBy: by ?? null,
        quarantineType: type,
        quarantineReason: reason ?? null,
        quarantineOwner: owner ?? null,
        quarantineExpiresAt: expiresAt,
      }, origin));
    const { id } = test;
    if (result.outcome !== "added") {
      const change = result.outcome === "changed" ? "its entry is changed" : "unchanged";
      context.note(`test ${id} is already quarantined and ${change}`);
    }
    await context.print(id, quarantineRecord(test, result.quarantine));
  },
});

const removeCommand = command({
  name: "remove",
  summary: "Release a test from quarantine; prints its id",
  example: "quarantine remove 0123456789abcdef01234567",
  input: {
    testId: TEST,
    by: option("<who>", "who releases it", v.optional(lineOfText)),
    reason: option("<text>", "why", v.optional(lineOfText)),
  },
  async run({ testId: parts, by, reason }, context) {
    const { sql } = await context.openDatabase();
    const test = await requireTest(sql, parts);
    const origin = await context.origin();
    const removal = { removedAt: context.now, removedBy: by ?? null, reason: reason ?? null };
    const { id } = test;
    if (!await writeTransaction(sql, (tx) => removeQuarantine(tx, test, removal, origin))) {
      context.note(`test ${id} is not quarantined`);
    }
    await context.print(id, quarantineRecord(test, null));
  },
});

const listCommand = command({
  name: "list",
  summary:
    "List quarantined tests: id, OWNER/NAME, suite, class, name, file, quarantined, by, type, reason, " +
    "owner, end",
  example: "quarantine list --org acme",
  input: { org: ORG },
  async run({ org }, context) {
    const { sql, organization: { organizationId } } = await openOrganization(context, org);
    const tests = await listQuarantined(sql, organizationId, context.now);
    await context.printList(tests.map((test) => quarantineRecord(test, test)));
  },
});

const logCommand = command({
  name: "log",
  summary:
    "List additions, changes, removals and ends, oldest first: time, action, id, OWNER/NAME, suite, " +
    "class, name, file, author, type, reason, owner, end",
  example: "quarantine log --org acme",
  input: {
    org: ORG,
    test: option("<test-id>", "only this test", v.optional(testIdentifier)),
  },
  async run({ org, test }, context) {
    const { sql, organization: { organizationId } } = await openOrganization(context, org);
    const events = await listQuarantineLog(sql, {
      organizationId,
      testId: test ? testId(test.idPrefix, test.testHash) : null,
      now: context.now,
    });
    await context.printList(
      events.map((event) => ({
        at: formatTimestamp(event.at),
        action: event.action,
        ...testRecord(event.testId, event.repository, event),
        author: event.author,
        quarantine_type: event.quarantineType,
        quarantine_reason: event.quarantineReason,
        quarantine_owner: event.quarantineOwner,
        quarantine_expires_at: timestampOrNull(event.quarantineExpiresAt),
      })),
    );
  },
});

/** The commands of `quarantine`. */
export const quarantineCommands: AddCommand = group({
  name: "quarantine",
  summary: "Quarantine tests, release them, list them and their log",
  example: "quarantine list --org acme",
  commands: [addCommand, removeCommand, listCommand, logCommand, policyCommands, applyCommand],
});

async function requireTest(
  sql: Queryable,
  parts: Parameters<typeof findTest>[1],
): Promise<StoredTest> {
  const test = await findTest(sql, parts);
  if (test) return test;
  throw new Failure(
    `test ${
      testId(parts.idPrefix, parts.testHash)
    } is unknown: expected an id as in the lists of tests`,
  );
}
