// Tests: tests/lib/cli/commands/org_log_test.ts tests/lib/cli/program_test.ts
import * as v from "valibot";
import { listChanges } from "../../../db/admin/changes.ts";
import {
  createOrganization,
  listOrganizations,
  type Organization,
  setPurchaseUnits,
} from "../../../db/admin/organizations.ts";
import type { Queryable } from "../../../db/connection/sql.ts";
import { writeTransaction } from "../../../db/write/transaction.ts";
import { jsonRecord } from "../../base/json_record.ts";
import { type AddCommand, command, type CommandContext, group } from "../command.ts";
import { argument, hidden, option, purchaseUnits } from "../parameters.ts";
import { lineOfText } from "../../base/value_schemas.ts";
import { Failure } from "../../base/failure.ts";
import { openOrganization, ORG, unknownOrganization } from "../organization.ts";

const NAME = argument("organization name, unique regardless of case", lineOfText);
const PURCHASE_UNITS = "legacy tokens are valid only above 0";

const createCommand = command({
  name: "create",
  summary: "Create an organization, and the database if there is none; print its name",
  example: "org create acme",
  createsDatabase: true,
  input: {
    name: NAME,
    purchaseUnits: hidden(
      option("<n>", `${PURCHASE_UNITS} (default: 0)`, v.optional(purchaseUnits, "0")),
    ),
  },
  run: ({ name, purchaseUnits: purchaseUnitCount }, context) =>
    change(context, async (tx) => {
      const { now: createdAt } = context;
      const created = await createOrganization(tx, { name, purchaseUnitCount, createdAt });
      if (created) return created;
      throw new Failure(`organization "${name}" already exists`);
    }),
});

const setCommand = command({
  name: "set",
  summary: "Set the purchase units of an organization and print its name",
  isHidden: true,
  example: "org set acme --purchase-units 10",
  input: { name: NAME, purchaseUnits: option("<n>", PURCHASE_UNITS, purchaseUnits) },
  run: ({ name, purchaseUnits: purchaseUnitCount }, context) =>
    change(context, async (tx) => {
      const changed = await setPurchaseUnits(tx, { name, purchaseUnitCount });
      if (!changed) throw unknownOrganization(name);
      return changed;
    }),
});

const listCommand = command({
  name: "list",
  summary: "List organizations",
  example: "org list",
  input: {},
  async run(_input, context) {
    const { sql } = await context.openDatabase();
    const records = (await listOrganizations(sql)).map(jsonRecord);
    await context.printList(records, ["name", "purchase_unit_count", "created_at"]);
  },
});

const logCommand = command({
  name: "log",
  summary:
    "List the changes by these commands, oldest first: time, author, command, subject, detail",
  example: "org log --org acme",
  input: { org: ORG },
  async run({ org }, context) {
    const { sql, organization: { organizationId } } = await openOrganization(context, org);
    const changes = await listChanges(sql, organizationId);
    await context.printList(
      changes.map(jsonRecord),
      [
        "changed_at",
        "author",
        "command",
        "subject",
        { title: "DETAIL", cell: ({ detail }) => JSON.stringify(detail) },
      ],
    );
  },
});

export const orgCommands: AddCommand = group({
  name: "org",
  summary: "Create, change and list organizations",
  example: "org list",
  commands: [createCommand, setCommand, listCommand, logCommand],
});

/** Makes a change, logs it, and prints the organization. */
async function change(
  context: CommandContext,
  make: (tx: Queryable) => Promise<Organization>,
): Promise<void> {
  const { sql } = await context.openDatabase();
  const organization = await writeTransaction(sql, async (tx) => {
    const changed = await make(tx);
    const { organizationId, name: subject, purchaseUnitCount } = changed;
    const detail = { purchase_unit_count: purchaseUnitCount };
    await context.logChange(tx, { organizationId, subject, detail });
    return changed;
  });
  await context.print(organization.name, jsonRecord(organization));
}
