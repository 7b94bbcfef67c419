/** Requests everything about a repository, and checks each response against the contract. */
import assert from "node:assert/strict";
import { Contract, seen } from "../../../tests/routes/contract.ts";
import { type Answers, coverages, expectedAnswers } from "./expected.ts";
import { FLAKY_EVERYWHERE, type Upload } from "./uploads.ts";

/** A running service. */
export interface Service {
  url: string;
  token: string;
}

interface Page<Item> {
  count: number;
  metadata: { after: string | null };
  submissions?: Item[];
  tests?: Item[];
}

interface Submission {
  build_url: string;
  commit_oid: string;
  recorded_at: string;
  status: string;
  test_result_count: number;
}

interface Event {
  commit_oid: string;
  recorded_at: string;
  build_url: string;
  message: string;
}

interface DisruptiveTest {
  id: string;
  name: string;
  disruptiveness: number;
  nondeterministic_negative_result_count: number;
  nondeterminism_first_recorded_at: string;
  latest_nondeterministic_commit_oid: string;
  latest_nondeterministic_negative_result: Omit<Event, "commit_oid">;
}

const contract = new Contract();

/**
 * All responses about a repository, and the number of archives that are still being processed.
 *
 * @throws {assert.AssertionError} when a response violates the contract
 */
export async function askAll(
  service: Service,
  repository: string,
): Promise<{ answers: Answers; unprocessed: number }> {
  const path = `/api/repos/${repository}`;
  const named = `repository=${encodeURIComponent(repository)}`;
  const listed = await pages<Submission>(service, `${path}/submissions?limit=100`);
  // The repository does not exist before its first upload is stored.
  if (listed === null) return { answers: expectedAnswers([]), unprocessed: 0 };
  const submissions = listed.filter(({ status }) => status === "processed");
  for (const { status, test_result_count } of listed) {
    if (status !== "processed") assert.deepEqual([status, test_result_count], ["processing", 0]);
  }
  const tests = await pages<DisruptiveTest>(service, `${path}/tests?limit=100`) ?? [];
  const tagged = await pages<{ name: string; tags: string[] }>(
    service,
    `/api/v1/flaky/tests?limit=100&quarantine=false&include=tags&${named}`,
  ) ?? [];
  const tagsOf = new Map(tagged.map(({ name, tags }) => [name, tags]));
  const flaky = tests.find(({ name }) => name === FLAKY_EVERYWHERE);
  const events = flaky
    ? await json<{ results: Event[] }>(service, `/api/tests/${flaky.id}/results`)
    : null;
  const answers: Answers = {
    submissions: submissions.map((
      { build_url, commit_oid, recorded_at, test_result_count },
    ) => ({ build_url, commit_oid, recorded_at, test_result_count })),
    tests: tests.map((test) => ({
      name: test.name,
      disruptiveness: test.disruptiveness,
      disruptions: test.nondeterministic_negative_result_count,
      first: test.nondeterminism_first_recorded_at,
      latest: {
        commit_oid: test.latest_nondeterministic_commit_oid,
        ...test.latest_nondeterministic_negative_result,
      },
      tags: tagsOf.get(test.name) ?? [],
    })).toSorted((a, b) => a.name < b.name ? -1 : 1),
    events: events?.results.map(({ commit_oid, recorded_at, build_url, message }) => ({
      commit_oid,
      recorded_at,
      build_url,
      message,
    })) ?? [],
    flakiness: await percentage(service, `/api/v1/flaky/badges?${named}`),
    coverage: await percentage(service, `/api/v1/coverage/badges?${named}`),
  };
  return { answers, unprocessed: listed.length - submissions.length };
}

/**
 * Asserts that the repository has all certain uploads, and of the doubtful ones each as a whole or not
 * at all. Returns the stored doubtful ones.
 */
export async function checkUploads(
  service: Service,
  { repository, certain, doubtful, isConcurrent }: {
    repository: string;
    /** In the order in which they were stored. */
    certain: readonly Upload[];
    doubtful: readonly Upload[];
    /** Several were stored at a time: any of them may have brought the latest coverage. */
    isConcurrent: boolean;
  },
): Promise<{ there: Upload[]; unprocessed: number }> {
  const { answers, unprocessed } = await askAll(service, repository);
  const listed = new Set(answers.submissions.map(({ build_url }) => build_url));
  const there = doubtful.filter(({ buildUrl }) => listed.has(buildUrl));
  const stored = [...certain, ...there];
  const expected = expectedAnswers(stored);
  if (isConcurrent && coverages(stored).includes(answers.coverage)) {
    expected.coverage = answers.coverage;
  }
  assert.deepEqual(answers, expected);
  return { there, unprocessed };
}

async function pages<Item>(service: Service, target: string): Promise<Item[] | null> {
  const items: Item[] = [];
  let after = "";
  for (;;) {
    const page = await json<Page<Item>>(service, `${target}${after}`);
    if (page === null) return null;
    items.push(...page.submissions ?? page.tests ?? []);
    if (page.metadata.after === null) {
      assert.equal(items.length, page.count, `${target}: count`);
      return items;
    }
    after = `&after=${encodeURIComponent(page.metadata.after)}`;
  }
}

/** `null` for what does not exist. */
async function json<Value>(service: Service, target: string): Promise<Value | null> {
  const text = await answer(service, target);
  return text === null ? null : JSON.parse(text);
}

async function percentage(service: Service, target: string): Promise<string> {
  const text = await answer(service, target);
  return />([\d.]+%)</.exec(text ?? "")?.[1] ?? "unknown";
}

async function answer({ url, token }: Service, target: string): Promise<string | null> {
  const response = await seen(
    await fetch(`${url}${target}`, {
      headers: { authorization: `Bearer ${token}`, "accept-encoding": "identity" },
    }),
  );
  contract.check({ method: "GET", target }, response);
  if (response.status === 404) return null;
  assert.equal(response.status, 200, target);
  return new TextDecoder().decode(response.body);
}
