/** Sections of comments whose every text is hostile. */
import { UTC } from "../../../lib/base/time_zone.ts";
import { jobSection, type ReportedTest } from "../../../lib/comment/job_section.ts";
import type { Section } from "../../../lib/comment/sections.ts";

export const PAGE = "https://flaky.example/tests/5f3a9c0e7b12d4a86f01c2e3";
export const BUILD = "https://ci.example/builds/7";

function hostileTest(text: string, changes: Partial<ReportedTest> = {}): ReportedTest {
  return {
    suite: text,
    class: "",
    name: text,
    file: text,
    verdict: "new",
    message: text,
    page: PAGE,
    last: { recorded_at: "2026-01-31T08:00:00Z", build_url: BUILD },
    owners: [text],
    blame: null,
    said: "",
    evidenceUrl: "",
    ...changes,
  };
}

/** A section of a job in which all names, messages and owners are this text. */
export function hostileSection(text: string): Section {
  return jobSection({
    job: text.slice(0, 100),
    run: [7, 1],
    runner: text.slice(0, 100),
    writtenAt: 1_769_947_200,
    zone: UTC,
    commit: "a1b2c3d",
    page: "",
    buildUrl: BUILD,
    failed: ["new", "known", "flaky", "quarantined", "unknown"].map((verdict) =>
      hostileTest(text, { verdict })
    ),
    flaky: [hostileTest(text)],
    problems: [text],
    serviceProblem: text,
    notWhole: null,
    redExitCode: null,
    outage: null,
  });
}
