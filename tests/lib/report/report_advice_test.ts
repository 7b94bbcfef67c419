import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import { DIALECTS } from "../../../lib/report/junit/dialects.ts";
import { FORMATS } from "../../../lib/report/native/format.ts";
import { readReport } from "../../../lib/report/read_report.ts";
import {
  FILE_OPTIONS,
  HIDDEN_RETRIES,
  LOADING_OPTIONS,
  ReportExaminer,
} from "../../../lib/report/report_advice.ts";

async function advice(...reports: string[]): Promise<string[]> {
  const examiner = new ReportExaminer();
  for (const [index, report] of reports.entries()) {
    const { tool } = await readReport(new Response(report).body!, {
      file: `${index}.xml`,
      onResult: (result, reported) => examiner.add(result, reported),
    });
    examiner.endReport(tool);
  }
  return examiner.advice.map(({ about, found, instead }) => `${about}: ${found}: ${instead}`);
}

const jest = (inside: string) =>
  `<testsuites name="jest tests"><testsuite name="a">${inside}</testsuite></testsuites>`;

describe("advice about reports", () => {
  it("names tools of the table", () => {
    const tools = new Set([...DIALECTS, ...Object.values(FORMATS)].map(({ tool }) => tool));
    for (
      const tool of [
        ...Object.keys(HIDDEN_RETRIES),
        ...Object.keys(FILE_OPTIONS),
        ...Object.keys(LOADING_OPTIONS),
      ]
    ) {
      assert.ok(tools.has(tool), tool);
    }
  });

  it("is what a tool hides, once for all its reports", async () => {
    const report = jest('<testcase name="b" classname="c"/>');
    const [retries, files, loading, ...others] = await advice(report, report);
    assert.match(retries!, /^retries: jest reports the last attempt .*: upload CTRF/);
    assert.match(files!, /^files: jest wrote no file .*: JEST_JUNIT_ADD_FILE_ATTRIBUTE=true jest/);
    assert.match(loading!, /^loading: .*: JEST_JUNIT_REPORT_TEST_SUITE_ERRORS=true jest/);
    assert.deepEqual(others, []);
  });

  it("is nothing about retries that the report has, and files that it has", async () => {
    const report = jest(
      '<testcase name="b" file="b.js"><flakyFailure message="m"/></testcase>' +
        '<testcase classname="Test suite failed to run" name="/srv/a.js"><error/></testcase>',
    );
    assert.deepEqual(await advice(report), []);
  });

  it("names a test whose name differs in every run, and absolute paths", async () => {
    for (
      const name of [
        "of 3f2504e0-4f89-41d3-9a0c-0305e82c3301",
        "at 2026-01-31T08:00:00Z",
        "until 1767225600",
        "0x7f7c95fd3850 is free",
        "test_listens[41873]",
        "test_seed[0.7281934512]",
        "test_user[mhd7q2xkzp]",
        "test_day[2026-11-01]",
        "test_file[/tmp/pytest-of-ci/pytest-31/cart.json]",
        "test_commit[3f9a2c71b0]",
      ]
    ) {
      const [found, ...others] = await advice(
        `<testsuite name="s"><testcase name="fine 200 ok"/><testcase name="${name}"/></testsuite>`,
      );
      assert.ok(found!.startsWith(`names: the name "${name}" seems to differ in every run`), found);
      assert.deepEqual(others, []);
    }
    const [found] = await advice(
      '<testsuite name="s"><testcase name="a" file="/srv/a.php"/></testsuite>',
    );
    assert.match(found!, /^paths: the tool wrote the absolute path \/srv\/a\.php: run in the/);
  });

  it("is nothing about parameters that stay the same", async () => {
    const names = [
      "[8080]",
      "[0.25]",
      "[utf8]",
      "[iso_8859_1]",
      "[12000]",
      "[authenticated]",
      "(1, 2)",
    ];
    for (const name of names) {
      const report = `<testsuite name="s"><testcase name="test${name}"/></testsuite>`;
      assert.deepEqual(await advice(report), [], name);
    }
  });

  it("is nothing about an ordinary report of an unknown tool, or one without results", async () => {
    const plain = '<testsuite name="s"><testcase name="adds 1 and 2" file="a.py"/></testsuite>';
    assert.deepEqual(await advice(plain, jest("")), []);
  });
});
