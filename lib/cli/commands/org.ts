import * as v from "valibot";
import {
  createOrganization,
  listOrganizations,
  type Organization,
  setPurchaseUnits,
} from "../../../db/admin/organizations.ts";
import { type AddCommand, command, type CommandContext, group } from "../command.ts";
import { Failure } from "../errors.ts";
import { organizationRecord } from "../resources.ts";
import { lineOfText, purchaseUnits } from "../values.ts";

const NAME = { "<name>": "organization name, unique regardless of case" };

const createCommand = command({
  name: "create",
  summary: "Create an organization; prints its name",
  example: "org create acme",
  createsDatabase: true,
  arguments: { ...NAME },
  options: { "--purchase-units <n>": "legacy tokens are valid only above 0 (default: 0)" },
  input: v.object({ name: lineOfText, purchaseUnits: v.optional(purchaseUnits, "0") }),
  async run({ name, purchaseUnits }, context) {
    const { sql } = await context.openDatabase();
    const organization = await createOrganization(sql, {
      name,
      purchaseUnitCount: purchaseUnits,
      createdAt: context.now,
    });
    if (!organization) throw new Failure(`organization "${name}" already exists`);
    await printOrganization(context, organization);
  },
});

const setCommand = command({
  name: "set",
  summary: "Set the purchase units of an organization; prints its name",
  example: "org set acme --purchase-units 10",
  arguments: { ...NAME },
  options: { "--purchase-units <n>": "legacy tokens are valid only above 0" },
  input: v.object({ name: lineOfText, purchaseUnits }),
  async run({ name, purchaseUnits }, context) {
    const { sql } = await context.openDatabase();
    const organization = await setPurchaseUnits(sql, { name, purchaseUnitCount: purchaseUnits });
    if (!organization) {
      throw new Failure(
        `organization "${name}" is unknown: \`test-analytics org list\` shows all`,
      );
    }
    await printOrganization(context, organization);
  },
});

const listCommand = command({
  name: "list",
  summary: "List organizations: name, purchase units, creation",
  example: "org list",
  input: v.object({}),
  async run(_input, context) {
    const { sql } = await context.openDatabase();
    const records = (await listOrganizations(sql)).map(organizationRecord);
    await context.printList(
      records,
      ["name", "purchase_unit_count", "created_at"],
    );
  },
});

/** `org create`, `org set` and `org list`. */
export const orgCommands: AddCommand = group({
  name: "org",
  summary: "Create, change and list organizations",
  example: "org list",
  commands: [createCommand, setCommand, listCommand],
});

async function printOrganization(context: CommandContext, organization: Organization) {
  await context.print(organization.name, organizationRecord(organization));
}
