import * as v from "valibot";
import {
  addQuarantine,
  findTest,
  listQuarantined,
  removeQuarantine,
  type StoredTest,
} from "../../../db/admin/quarantine.ts";
import type { Queryable } from "../../../db/connection/sql.ts";
import { writeTransaction } from "../../../db/write/transaction.ts";
import { testId } from "../../base/identity.ts";
import { type AddCommand, argument, command, group, option } from "../command.ts";
import { Failure } from "../errors.ts";
import { ORG, quarantineRecord, requireOrganization } from "../resources.ts";
import { lineOfText, oneOf, testIdentifier } from "../values.ts";

const TEST = argument("test id, 24 hex digits", testIdentifier);

const addCommand = command({
  name: "add",
  summary: "Quarantine a test; prints its id",
  example: "quarantine add 0123456789abcdef01234567 --by ada",
  input: {
    testId: TEST,
    by: option("<who>", "who quarantines it", v.optional(lineOfText)),
    type: option(
      "<type>",
      "manual or automatic (default: manual)",
      v.optional(oneOf(["manual", "automatic"]), "manual"),
    ),
  },
  async run({ testId: parts, by, type }, context) {
    const { sql } = await context.openDatabase();
    const test = await requireTest(sql, parts);
    const id = testId(test.idPrefix, test.testHash);
    const result = await writeTransaction(sql, async (tx) => {
      const result = await addQuarantine(tx, test, {
        quarantinedAt: context.now,
        quarantinedBy: by ?? null,
        quarantineType: type,
      });
      const detail = { test: test.name, by: by ?? null, type };
      if (result?.added) await context.logChange(tx, { ...test, subject: id, detail });
      return result;
    });
    if (!result) throw unknownTest(parts);
    if (!result.added) context.note(`test ${id} is already quarantined and unchanged`);
    await context.print(id, quarantineRecord(test, result.quarantine));
  },
});

const removeCommand = command({
  name: "remove",
  summary: "Release a test from quarantine; prints its id",
  example: "quarantine remove 0123456789abcdef01234567",
  input: { testId: TEST },
  async run({ testId: parts }, context) {
    const { sql } = await context.openDatabase();
    const test = await requireTest(sql, parts);
    const id = testId(test.idPrefix, test.testHash);
    const isRemoved = await writeTransaction(sql, async (tx) => {
      const isRemoved = await removeQuarantine(tx, test);
      const detail = { test: test.name };
      if (isRemoved) await context.logChange(tx, { ...test, subject: id, detail });
      return isRemoved;
    });
    if (!isRemoved) context.note(`test ${id} is not quarantined`);
    await context.print(id, quarantineRecord(test, null));
  },
});

const listCommand = command({
  name: "list",
  summary:
    "List quarantined tests: id, OWNER/NAME, suite, class, name, file, quarantined, by, type",
  example: "quarantine list --org acme",
  input: { org: ORG },
  async run({ org }, context) {
    const { sql } = await context.openDatabase();
    const organization = await requireOrganization(sql, org);
    const tests = await listQuarantined(sql, organization.organizationId);
    await context.printList(
      tests.map((test) => quarantineRecord(test, test)),
      [
        "id",
        "repository",
        "suite",
        "class",
        "name",
        "file",
        "quarantined_at",
        "quarantined_by",
        "quarantine_type",
      ],
    );
  },
});

/** `quarantine add`, `quarantine remove` and `quarantine list`. */
export const quarantineCommands: AddCommand = group({
  name: "quarantine",
  summary: "Quarantine tests, release them and list them",
  example: "quarantine list --org acme",
  commands: [addCommand, removeCommand, listCommand],
});

type TestIdParts = Pick<StoredTest, "idPrefix" | "testHash">;

async function requireTest(sql: Queryable, parts: TestIdParts): Promise<StoredTest> {
  const test = await findTest(sql, parts);
  if (!test) throw unknownTest(parts);
  return test;
}

function unknownTest({ idPrefix, testHash }: TestIdParts): Failure {
  return new Failure(
    `test ${testId(idPrefix, testHash)} is unknown: expected an id as in the lists of tests`,
  );
}
