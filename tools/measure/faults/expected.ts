/** The expected API responses when exactly these uploads are stored, each once. */
import { formatTimestamp } from "../../../lib/base/time.ts";
import { FLAKY_EVERYWHERE, ownFlakyName, resultCount, type Upload } from "./uploads.ts";

/** Responses of all endpoints about a repository, without the ids. */
export interface Answers {
  submissions: {
    build_url: string;
    commit_oid: string;
    recorded_at: string;
    test_result_count: number;
  }[];
  tests: {
    name: string;
    disruptiveness: number;
    disruptions: number;
    first: string;
    latest: { commit_oid: string; recorded_at: string; build_url: string; message: string };
    tags: string[];
  }[];
  /** Events of the test that is flaky in several uploads, newest first. */
  events: { commit_oid: string; recorded_at: string; build_url: string; message: string }[];
  flakiness: string;
  coverage: string;
}

const EVENTS = 10;

/** The answers about a repository with these uploads, in the order in which they were stored. */
export function expectedAnswers(uploads: readonly Upload[]): Answers {
  const newestFirst = uploads.toSorted((a, b) => b.recordedAt - a.recordedAt);
  const flaky = newestFirst.filter(({ isFlaky }) => isFlaky);
  return {
    submissions: newestFirst.map((upload) => ({
      build_url: upload.buildUrl,
      commit_oid: upload.commit,
      recorded_at: formatTimestamp(upload.recordedAt),
      test_result_count: resultCount(upload),
    })),
    tests: [
      ...flaky.length > 0 ? [testOf(FLAKY_EVERYWHERE, flaky)] : [],
      ...flaky.map((upload) => testOf(ownFlakyName(upload), [upload])),
    ].toSorted((a, b) => a.name < b.name ? -1 : 1),
    events: flaky.slice(0, EVENTS).map(eventOf),
    flakiness: uploads.length === 0 ? "unknown" : percentage(flaky.length / uploads.length),
    coverage: coverages(uploads).at(-1) ?? "unknown",
  };
}

/** The coverage percentage of each upload that has coverage. */
export function coverages(uploads: readonly Upload[]): string[] {
  return uploads.flatMap(({ coverage }) =>
    coverage === null ? [] : [percentage(coverage.covered / coverage.lines)]
  );
}

function testOf(name: string, uploads: readonly Upload[]): Answers["tests"][number] {
  return {
    name,
    // Each upload has one failure and one pass of it.
    disruptiveness: 0.5,
    disruptions: uploads.length,
    first: formatTimestamp(uploads.at(-1)!.recordedAt),
    latest: eventOf(uploads[0]!),
    tags: [...new Set(uploads.map(({ tag }) => tag))].toSorted(),
  };
}

function eventOf(upload: Upload): Answers["events"][number] {
  return {
    commit_oid: upload.commit,
    recorded_at: formatTimestamp(upload.recordedAt),
    build_url: upload.buildUrl,
    message: `no ${upload.no}`,
  };
}

function percentage(ratio: number): string {
  const tenths = Math.round(ratio * 1000);
  const held = ratio > 0 && ratio < 1 ? Math.min(Math.max(tenths, 1), 999) : tenths;
  return `${held / 10}%`;
}
