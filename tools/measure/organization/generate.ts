/**
 * An organization as a new user with many teams has it: 60 repositories, 40 owners, about 500 flaky
 * tests, about 5,000 builds, the same for the same moment.
 */
import { SubmissionBuilder } from "../../../lib/analysis/submission_content.ts";
import { ownerTags } from "../../../lib/analysis/test_tags.ts";
import { testHash, testId, type TestIdentity } from "../../../lib/base/identity.ts";
import { SECONDS_PER_DAY } from "../../../lib/base/time.ts";
import type { Database } from "../../../db/connection/connect.ts";
import { createRepository, type Repository } from "../../../db/admin/repositories.ts";
import { type Codeowners, parseCodeowners } from "../../../lib/report/codeowners.ts";
import { commitSubmission } from "../../../tests/commit_submission.ts";
import { quarantine } from "../../../tests/routes/fixture.ts";
import { createCaller } from "../bench/callers.ts";
import { failures } from "../bench/failures.ts";
import { Random } from "../bench/random.ts";

const REPOSITORY_COUNT = 60;
const OWNER_COUNT = 40;
const BUILD_COUNT = 5_000;
const DAYS = 56;
const MODULES =
  "cart checkout inventory payment search shipping mail users pricing catalog returns reports"
    .split(" ");
const KINDS = ["service", "web", "worker", "client", "gateway"];
const FORGES = [
  "https://github.com/acme",
  "https://gitlab.example/acme",
  "https://gitea.example/acme",
  "https://bitbucket.org/acme",
];
const OUTAGE = "ConnectionError: connect ECONNREFUSED 10.0.3.17:5432 (database of the CI runners)";

/** The names of tests, as the reports of one tool have them. */
type Language = (module: string, test: number) => TestIdentity;

const LANGUAGES: readonly Language[] = [
  (module, test) => ({
    suite: "pytest",
    class: `tests.${module}.test_${module}_${test % 7}`,
    name: `test_${module}_case_${test}[eu-central]`,
    file: `tests/${module}/test_${module}_${test % 7}.py`,
  }),
  (module, test) => {
    const file = `src/${module}/${module}${test % 5}.test.ts`;
    return {
      suite: file,
      class: file,
      name: `${module} › keeps item ${test} after a reload`,
      file,
    };
  },
  (module, test) => {
    const name = `com.acme.${module}.${module}Service${test % 6}Test`;
    const file = `src/test/java/${name.replaceAll(".", "/")}.java`;
    return { suite: name, class: name, name: `handlesCase${test}`, file };
  },
  (module, test) => ({
    suite: `example.com/acme/${module}`,
    class: `example.com/acme/${module}`,
    name: `Test${module[0]!.toUpperCase()}${module.slice(1)}${test}`,
    file: "",
  }),
  (module, test) => {
    const file = `spec/${module}/order_${test % 4}_spec.rb`;
    const name = `Order ${test % 4} ${module} sums up case ${test}`;
    return { suite: "rspec", class: `spec.${module}.order_${test % 4}_spec`, name, file };
  },
];

interface GeneratedRepository {
  repository: Repository;
  tests: TestIdentity[];
  /** Chance to fail on code on which it passes, by test; 0 for most. */
  flakiness: number[];
  environments: string[];
  url: string;
  buildCount: number;
  /** Days ago of the first and the last build. */
  since: number;
  until: number;
}

/** What was generated. */
interface GeneratedOrganization {
  token: string;
  /** Builds that were stored. */
  buildCount: number;
  /** Tests that are flaky at some time. */
  flakyTestCount: number;
}

/** Fills a migrated, empty database up to a moment in seconds since 1970. */
export async function generateOrganization(
  { sql }: Pick<Database, "sql">,
  { now, report }: { now: number; report: (line: string) => void },
): Promise<GeneratedOrganization> {
  const createdAt = now - DAYS * SECONDS_PER_DAY;
  const { organization, token } = await createCaller(sql, { name: "acme", createdAt });
  const random = new Random(32);
  const owners = codeowners();
  const total = { token, buildCount: 0, flakyTestCount: 0 };
  // A few have most of the builds, and some have none lately.
  const weights = Array.from({ length: REPOSITORY_COUNT }, (_, no) => 1 / (1 + no / 8));
  const sum = weights.reduce((one, other) => one + other);
  for (let no = 0; no < REPOSITORY_COUNT; no++) {
    const name = `${MODULES[no % MODULES.length]}-${KINDS[Math.floor(no / MODULES.length)]}`;
    const repository = await sql.begin((tx) =>
      createRepository(tx, { organization, owner: "acme", name, createdAt })
    );
    const isQuiet = no % 10 === 9;
    const generated: GeneratedRepository = {
      repository,
      ...testsOf(no, random),
      environments: no % 6 === 1 ? ["Linux-X64", "Windows-X64", "macOS-ARM64"] : ["Linux-X64"],
      url: no % 12 === 11 ? "" : `${FORGES[no % FORGES.length]}/${name}`,
      buildCount: Math.max(2, Math.round(BUILD_COUNT * weights[no]! / sum)),
      since: isQuiet ? DAYS : no % 7 === 3 ? 9 : DAYS,
      until: isQuiet ? 16 : 0,
    };
    total.buildCount += generated.buildCount;
    total.flakyTestCount += generated.flakiness.filter((share) => share > 0).length;
    await uploadBuilds(sql, generated, { now, random, owners, seed: no });
    await quarantineSome(sql, generated, { now, random });
    if (no % 10 === 9) report(`${no + 1} repositories, ${total.buildCount} builds`);
  }
  await sql`vacuum analyze`;
  return total;
}

/** Owners by folder and module: each owns something in many repositories. */
function codeowners(): Codeowners {
  const lines = Array.from({ length: OWNER_COUNT }, (_, no) => {
    const module = MODULES[no % MODULES.length];
    return `*${module}*${no < MODULES.length ? "" : (no % 8)}* @acme/team-${String(no + 1)}`;
  });
  return parseCodeowners(`${lines.join("\n")}\n`);
}

function testsOf(no: number, random: Random): Pick<GeneratedRepository, "tests" | "flakiness"> {
  const language = LANGUAGES[no % LANGUAGES.length]!;
  const count = no === 0 ? 3_000 : 60 + random.below(240);
  const tests = Array.from(
    { length: count },
    (_, test) => language(MODULES[(no + test) % MODULES.length]!, test),
  );
  if (no === 1) {
    tests[3]!.name = `checkout › ${"a parameter that is printed as a whole, ".repeat(10)}`;
  }
  const flakyCount = no === 0 ? 90 : no % 5 === 4 ? 1 : 9;
  const flakiness = tests.map((_, test) =>
    test % 3 === 0 && test / 3 < flakyCount ? 0.004 + 0.06 * random.next() ** 3 : 0
  );
  return { tests, flakiness };
}

async function uploadBuilds(
  sql: Database["sql"],
  { repository, tests, flakiness, environments, url, buildCount, since, until }:
    GeneratedRepository,
  { now, random, owners, seed }: {
    now: number;
    random: Random;
    owners: Codeowners;
    seed: number;
  },
): Promise<void> {
  const texts = failures(seed);
  // Each test fails for one or two causes.
  const causes = tests.map(() => [texts.next().value, texts.next().value]);
  const typical = tests.map(() => Math.exp(3.5 + 1.3 * random.normal()) * 1_000);
  let commitOid = random.hex(40);
  for (let number = 0; number < buildCount; number++) {
    const age = since - (since - until) * (number + 1) / buildCount;
    const recordedAt = Math.floor(now - age * SECONDS_PER_DAY) - 60;
    // A third of the builds run the code of the build before once more.
    // After an outage that is only done where it makes all tests look flaky.
    const isOutage = number % 97 === 60;
    const isAfterOutage = number % 97 === 61 && seed % 7 > 0;
    if (isOutage || isAfterOutage || random.next() > 0.35) commitOid = random.hex(40);
    const pull = 100 + Math.floor(number / 3);
    const branch = [
      "main",
      "main",
      `feature/${MODULES[number % 12]}-${number % 40}`,
      `refs/pull/${pull}/merge`,
    ][random.below(4)]!;
    for (const [part, environment] of environments.entries()) {
      const builder = new SubmissionBuilder();
      tests.forEach((identity, test) => {
        const slow = test === 5 && age < 10 ? 3 : 1;
        const durationMicroseconds = Math.round(
          typical[test]! * slow * Math.exp(0.3 * random.normal()),
        );
        const isBroken = branch.startsWith("feature") && random.next() < 0.000_4;
        const isHere = test !== 6 || environment === "Windows-X64";
        const isFlaky = isHere && random.next() < flakiness[test]! * (test === 6 ? 8 : 1);
        const isHit = isOutage && test % 3 > 0;
        const [first, other] = causes[test]!;
        const text = isHit
          ? { message: OUTAGE, body: OUTAGE }
          : random.next() < 0.8
          ? first
          : other;
        if (isFlaky && random.next() < 0.5) {
          builder.add({ ...identity, durationMicroseconds, conclusion: "failure", ...text! });
          builder.add(passing(identity, durationMicroseconds));
        } else if (isFlaky || isBroken || isHit) {
          builder.add({ ...identity, durationMicroseconds, conclusion: "failure", ...text! });
        } else builder.add(passing(identity, durationMicroseconds));
      });
      const content = builder.finish();
      await commitSubmission(sql, {
        repositoryId: repository.repositoryId,
        commitOid,
        treeOid: null,
        branch,
        environment,
        job: "test",
        buildUrl: `https://ci.example/acme/${repository.name}/runs/${1000 + number}`,
        repositoryUrl: url,
        tags: [],
        testTags: ownerTags(content, owners),
        recordedAt: recordedAt + 10 * part,
        uploadedAt: recordedAt + 10 * part + 20,
        reportDigest: random.hex(64),
        content,
        coverage: part === 0 && number % 4 === 0
          ? { coveredLineCount: 7_000 + number, lineCount: 10_000 + number }
          : null,
      });
    }
  }
}

function passing(identity: TestIdentity, durationMicroseconds: number) {
  return {
    ...identity,
    durationMicroseconds,
    conclusion: "passing" as const,
    message: "",
    body: "",
  };
}

/** About one in eight flaky tests, some of which end within a week. */
async function quarantineSome(
  sql: Database["sql"],
  { repository, tests, flakiness }: GeneratedRepository,
  { now, random }: { now: number; random: Random },
): Promise<void> {
  for (const [test, identity] of tests.entries()) {
    if (!flakiness[test] || random.next() > 0.12) continue;
    await quarantine({ sql }, testId(repository.idPrefix, testHash(identity)), {
      quarantinedAt: now - random.below(20 * SECONDS_PER_DAY),
      quarantinedBy: `person-${random.below(30)}`,
      quarantineReason: `TICKET-${random.below(900)}`,
      quarantineOwner: `@acme/team-${1 + random.below(OWNER_COUNT)}`,
      quarantineExpiresAt: now + (1 + random.below(20)) * SECONDS_PER_DAY,
      quarantineEnvironment: null,
    });
  }
}
