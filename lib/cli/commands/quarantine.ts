import * as v from "valibot";
import {
  addQuarantine,
  findTest,
  listQuarantined,
  removeQuarantine,
  type StoredTest,
} from "../../../db/admin/quarantine.ts";
import { listQuarantineLog } from "../../../db/read/quarantine_log.ts";
import {
  applyPolicy,
  listPolicies,
  loadPolicy,
  setPolicy,
} from "../../../db/admin/quarantine_policy.ts";
import { countReleases } from "../../../db/admin/quarantine_candidates.ts";
import type { Organization } from "../../../db/admin/organizations.ts";
import { listRepositories, type Repository } from "../../../db/admin/repositories.ts";
import type { Queryable } from "../../../db/connection/sql.ts";
import { writeTransaction } from "../../../db/write/transaction.ts";
import { newEntry } from "../../analysis/quarantine.ts";
import { quarantineRecord, testRecord } from "../../analysis/quarantine_json.ts";
import { DEFAULT_POLICY, type QuarantinePolicy } from "../../analysis/quarantine_policy.ts";
import { testId } from "../../base/identity.ts";
import { formatRepositoryName, type RepositoryName } from "../../base/repository_name.ts";
import {
  formatTimestamp,
  SECONDS_PER_DAY,
  timestampOrNull,
  WINDOW_SECONDS,
} from "../../base/time.ts";
import { plural } from "../../base/text.ts";
import { PROGRAM } from "../../base/version.ts";
import { readWith } from "../../base/read_with.ts";
import { readEnvironments } from "../../intake/upload_values.ts";
import { type AddCommand, command, type CommandContext, group } from "../command.ts";
import { argument, flag, oneOf, option, repositoryName, wholeNumber } from "../parameters.ts";
import {
  duration,
  expiry,
  lineOfText,
  MAX_LIFETIME_SECONDS,
  testIdentifier,
} from "../../base/value_schemas.ts";
import { Failure, UsageError } from "../../base/failure.ts";
import { openOrganization, ORG, requireRepository } from "../organization.ts";

const TEST = argument("test id, 24 hex digits", testIdentifier);

const addCommand = command({
  name: "add",
  summary: "Quarantine a test, or change its reason, owner or end; print its id",
  example: "quarantine add 0123456789abcdef01234567 --by ada --expires 30d",
  details: [
    "A test that is quarantined already keeps its date, author and type. A quarantine " +
    "ends at the start of the second that --expires names.",
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
    expires: option(
      "<when>",
      "when the quarantine ends: 30d, or RFC 3339 (default: never)",
      v.optional(expiry),
    ),
    environment: option(
      "<globs>",
      "environments in which its failures are excused, separated by commas, such as Windows* (default: all)",
      v.optional(readWith(readEnvironments)),
    ),
  },
  async run({ testId: parts, ...given }, context) {
    const read = newEntry(given, context.now);
    if ("wrongEnd" in read) throw new UsageError(`--expires: ${read.wrongEnd}`);
    const { sql } = await context.openDatabase();
    const test = await requireTest(sql, parts);
    const origin = context.origin();
    const result = await writeTransaction(sql, (tx) => addQuarantine(tx, test, read.entry, origin));
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
  summary: "Release a test from quarantine and print its id",
  example: "quarantine remove 0123456789abcdef01234567",
  input: {
    testId: TEST,
    by: option("<who>", "who releases it", v.optional(lineOfText)),
    reason: option("<text>", "why", v.optional(lineOfText)),
  },
  async run({ testId: parts, by, reason }, context) {
    const { sql } = await context.openDatabase();
    const test = await requireTest(sql, parts);
    const origin = context.origin();
    const removal = { removedAt: context.now, removedBy: by ?? null, reason: reason ?? null };
    const { id } = test;
    if (!await writeTransaction(sql, (tx) => removeQuarantine(tx, test, removal, origin))) {
      context.note(`test ${id} is not quarantined`);
    }
    await context.print(id, quarantineRecord(test, null));
  },
});

/** The columns of lists. New ones come last, because scripts count columns. */
const LISTED = [
  "id",
  "repository",
  "suite",
  "class",
  "name",
  "file",
  "quarantined_at",
  "quarantined_by",
  "quarantine_type",
  "quarantine_reason",
  "quarantine_owner",
  "quarantine_expires_at",
  "quarantine_environment",
] as const;

const LOGGED = [
  "at",
  "action",
  "id",
  "repository",
  "suite",
  "class",
  "name",
  "file",
  "author",
  "quarantine_type",
  "quarantine_reason",
  "quarantine_owner",
  "quarantine_expires_at",
  "quarantine_environment",
] as const;

const listCommand = command({
  name: "list",
  summary:
    "List quarantined tests: id, OWNER/NAME, suite, class, name, file, quarantined, by, type, reason, " +
    "owner, end, environments",
  example: "quarantine list --org acme",
  input: { org: ORG },
  async run({ org }, context) {
    const { sql, organization: { organizationId } } = await openOrganization(context, org);
    const tests = await listQuarantined(sql, organizationId, context.now);
    await context.printList(
      tests.map((test) => quarantineRecord(test, test)),
      LISTED,
      [
        "id",
        "repository",
        "name",
        "quarantined_by",
        "quarantine_expires_at",
        "quarantine_environment",
      ],
    );
  },
});

const logCommand = command({
  name: "log",
  summary:
    "List additions, changes, removals and ends, oldest first: time, action, id, OWNER/NAME, suite, " +
    "class, name, file, author, type, reason, owner, end, environments",
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
        quarantine_environment: event.quarantineEnvironment,
      })),
      LOGGED,
      ["at", "action", "id", "name", "author", "quarantine_reason", "quarantine_environment"],
    );
  },
});

const REPO = option(
  "<owner/name>",
  "repository (default: all that have no policy of their own)",
  v.optional(repositoryName),
);

const count = (meaning: string, standard: number) =>
  option(
    "<n>",
    `${meaning} (default: ${standard})`,
    v.optional(wholeNumber({ min: 1, max: 1_000_000 }), String(standard)),
  );

const time = (meaning: string, standard: number) => {
  const text = `${standard / SECONDS_PER_DAY}d`;
  const schema = v.optional(duration({ max: MAX_LIFETIME_SECONDS }), text);
  return option("<duration>", `${meaning} (default: ${text})`, schema);
};

const setCommand = command({
  name: "set",
  summary: "Turn the policy on for an organization or a repository and print its name",
  example: "quarantine policy set --org acme --max-tests 30",
  input: {
    org: ORG,
    repo: REPO,
    disruptions: count("disruptions in the window to enter", DEFAULT_POLICY.disruptions),
    codeVersions: count(
      "code versions with a disruption to enter; those of one change count as one",
      DEFAULT_POLICY.codeVersions,
    ),
    minResults: count("results in the window to enter", DEFAULT_POLICY.minResults),
    maxTests: count("maximum automatic entries of a repository", DEFAULT_POLICY.maxTests),
    releasePasses: count("passes since the last failure to leave", DEFAULT_POLICY.releasePasses),
    releaseAfter: time("time since the last failure to leave", DEFAULT_POLICY.releaseAfter),
    expires: time("length of an entry", DEFAULT_POLICY.expires),
  },
  run: ({ org, repo, ...policy }, context) => store(context, { org, repo }, policy),
});

const offCommand = command({
  name: "off",
  summary: "Turn the policy off for an organization or a repository and print its name",
  example: "quarantine policy off --org acme",
  input: { org: ORG, repo: REPO },
  run: (names, context) => store(context, names, null),
});

async function store(
  context: CommandContext,
  { org, repo }: { org: string | undefined; repo: RepositoryName | undefined },
  policy: QuarantinePolicy | null,
): Promise<void> {
  const { sql, organization } = await openOrganization(context, org);
  const { organizationId } = organization;
  const repository = repo ? await requireRepository(sql, organization, repo) : null;
  const subject = repository ? formatRepositoryName(repository) : organization.name;
  const record = policyRecord({ repository, policy });
  const stored = (await listPolicies(sql, organizationId)).map(policyRecord);
  const before = stored.find((one) => one.repository === record.repository) ??
    (repository ? null : policyRecord({ repository, policy: null }));
  if (JSON.stringify(before) === JSON.stringify(record)) {
    context.note(policy ? "the policy is already set to this" : "the policy is already off");
  } else {
    const scope = { organizationId, repositoryId: repository?.repositoryId ?? null };
    await writeTransaction(sql, async (tx) => {
      await setPolicy(tx, scope, policy);
      await context.logChange(tx, { organizationId, subject, detail: record });
    });
  }
  if (!repository) {
    const own = stored.flatMap(({ repository }) => repository ?? []);
    if (own.length > 0) {
      context.note(`repositories with a policy of their own are unchanged: ${own.join(", ")}`);
    }
  }
  await context.print(subject, record);
}

const showCommand = command({
  name: "show",
  summary:
    "Show the policies: OWNER/NAME (none for the organization), state, disruptions, code versions, " +
    "results, tests, release passes, release after (s), length (s), tests that the policy released, how " +
    "many of these failed again within 60 days, how many are still within them",
  example: "quarantine policy show --org acme",
  input: {
    org: ORG,
    repo: option("<owner/name>", "only the policy of this repository", v.optional(repositoryName)),
  },
  async run({ org, repo }, context) {
    const { sql, organization } = await openOrganization(context, org);
    const repository = repo && await requireRepository(sql, organization, repo);
    const { records, released, failedAgain, undecided } = await policiesOf(sql, {
      ...organization,
      now: context.now,
    }, repository);
    if (records.length === 0) context.note("the policy is off: nothing is set");
    else if (repository && records[0]!.repository === null) {
      context.note("it has no policy of its own: the organization's applies");
    }
    if (released > 0) {
      const open = undecided === 0
        ? ""
        : `, ${undecided} ${undecided === 1 ? "is" : "are"} still within them`;
      context.note(
        `of ${
          plural(released, "test")
        } that the policy released, ${failedAgain} failed again within 60 days${open} ` +
          "(on Apache Ozone's history 48 to 71 %: calm is not fixed)",
      );
    }
    const days = (seconds: number | null) => seconds && `${seconds / SECONDS_PER_DAY}d`;
    await context.printList(records, undefined, [
      "repository",
      "state",
      "disruptions",
      { title: "VERSIONS", cell: (record) => record.code_versions },
      { title: "RESULTS", cell: (record) => record.min_results },
      { title: "TESTS", cell: (record) => record.max_tests },
      { title: "PASSES", cell: (record) => record.release_passes },
      { title: "AFTER", cell: (record) => days(record.release_after_seconds) },
      { title: "EXPIRES", cell: (record) => days(record.expires_seconds) },
    ]);
  },
});

/**
 * The policies of an organization, or the one that applies to a repository, each with what it released in the
 * repositories to which it applies; and what was released in all.
 */
async function policiesOf(
  sql: Queryable,
  organization: Organization & { now: number },
  repository: Repository | undefined,
) {
  const { organizationId } = organization;
  const policies = await listPolicies(sql, organizationId);
  const all = repository ? [repository] : await listRepositories(sql, organizationId);
  const policyOf = new Map(
    policies.map((one) => [one.repository && formatRepositoryName(one.repository), one]),
  );
  const subjects = Map.groupBy(
    all,
    (one) => policyOf.get(formatRepositoryName(one)) ?? policyOf.get(null),
  );
  const total = { released: 0, failedAgain: 0, undecided: 0 };
  const records = [];
  for (const policy of [...policies, undefined]) {
    const own = subjects.get(policy);
    const { released, failedAgain, undecided } = await countReleases(sql, organization, own ?? []);
    total.released += released;
    total.failedAgain += failedAgain;
    total.undecided += undecided;
    if (policy && (!repository || own)) {
      records.push({ ...policyRecord(policy), released, failed_again: failedAgain, undecided });
    }
  }
  return { records, ...total };
}

const policyCommands: AddCommand = group({
  name: "policy",
  summary: "Set when tests are quarantined and released automatically",
  example: "quarantine policy show --org acme",
  commands: [setCommand, showCommand, offCommand],
});

const applyCommand: AddCommand = command({
  name: "apply",
  summary:
    "Apply the policy now: action, id, OWNER/NAME, suite, class, name, file, reason of each test",
  example: "quarantine apply --org acme --dry-run",
  details: [
    "Lists the tests that are automatically quarantined or have enough disruptions: enter, leave, " +
    "stay, or skip. `watch` and `up` apply the policy after every upload.",
  ],
  input: {
    org: ORG,
    dryRun: flag(
      "print the decisions without applying them; uses the default policy if none is set",
    ),
  },
  async run({ org, dryRun: isDryRun }, context) {
    const { now } = context;
    const { sql, organization: { organizationId } } = await openOrganization(context, org);
    const isUnset = (await listPolicies(sql, organizationId)).length === 0;
    if (isUnset) {
      const hint = `turn it on with \`${PROGRAM} quarantine policy set --org NAME\``;
      context.note(`the policy is off${isDryRun ? "; these are its defaults" : ""}: ${hint}`);
    }
    const otherwise = isDryRun && isUnset ? DEFAULT_POLICY : null;
    const options = { now, windowStart: now - WINDOW_SECONDS, isDryRun };
    const origin = context.origin();
    const decisions = [];
    for (const repository of await listRepositories(sql, organizationId)) {
      const policy = await loadPolicy(sql, repository) ?? otherwise;
      if (policy) {
        decisions.push(...await applyPolicy(sql, repository, policy, { ...options, origin }));
      }
    }
    await context.printList(
      decisions.map(({ test, action, reason }) => ({
        action,
        ...testRecord(test.id, formatRepositoryName(test.repository), test),
        reason,
      })),
      undefined,
      ["action", "id", "name", "reason"],
    );
  },
});

function policyRecord({ repository, policy }: {
  repository: RepositoryName | null;
  policy: QuarantinePolicy | null;
}) {
  return {
    repository: repository && formatRepositoryName(repository),
    state: policy ? "on" : "off",
    disruptions: policy?.disruptions ?? null,
    code_versions: policy?.codeVersions ?? null,
    min_results: policy?.minResults ?? null,
    max_tests: policy?.maxTests ?? null,
    release_passes: policy?.releasePasses ?? null,
    release_after_seconds: policy?.releaseAfter ?? null,
    expires_seconds: policy?.expires ?? null,
  };
}

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
