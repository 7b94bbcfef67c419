import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import { read as covered, readIn } from "./reading.ts";

const cobertura = (classes: string, root = `line-rate="0"`) =>
  `<coverage ${root}><packages><package><classes>${classes}</classes></package></packages></coverage>`;
const jacoco = (inside: string) => `<report name="x">${inside}</report>`;
const clover = (inside: string, root = `clover="4"`) =>
  `<coverage ${root}><project>${inside}</project></coverage>`;

describe("lcov", () => {
  it("counts an execution count above 2^53 as covered, a negative one as not", async () => {
    assert.equal(await covered("SF:a\nDA:1,18446744073709551615\nDA:2,-3\nend_of_record\n"), "1/2");
  });
  it("skips line 0, checksums, comments and records of later versions", async () => {
    const report = "# made by hand\nSF:a\nDA:0,1\nDA:1,1,abc==\nMCDC:1,2,t\nend_of_record\n";
    assert.equal(await covered(report), "1/1");
  });
  it("reads line ends of Windows", async () => {
    assert.equal(await covered("TN:\r\nSF:a\r\nDA:1,1\r\nend_of_record\r\n"), "1/1");
  });
});

describe("Cobertura", () => {
  it("prefers the lines of the class to those of its methods", async () => {
    const methods =
      `<methods><method><lines><line number="1" hits="5"/><line number="9" hits="5"/>` +
      `</lines></method></methods>`;
    const lines = `<lines><line number="1" hits="0"/><line number="2" hits="1"/></lines>`;
    assert.equal(await covered(cobertura(`<class filename="a">${methods}${lines}</class>`)), "1/2");
    assert.equal(await covered(cobertura(`<class filename="a">${methods}</class>`)), "2/2");
  });
  it("is read in small chunks also behind a long DOCTYPE", async () => {
    const doctype = `<!DOCTYPE coverage [<!-- ${"x".repeat(5_000)} -->]>`;
    const report = doctype + cobertura("", `lines-covered="1" lines-valid="2"`);
    assert.equal(await readIn([report], { chunkBytes: 64 }), "1/2");
  });
  it("merges classes of one file", async () => {
    const of = (hits: number) =>
      `<class filename="a.cs"><lines><line number="1" hits="${hits}"/></lines></class>`;
    assert.equal(await covered(cobertura(of(0) + of(2))), "1/1");
  });
  it("keeps classes apart that name no file", async () => {
    const unnamed = `<class name="" filename=""><lines><line number="1" hits="1"/></lines></class>`;
    assert.equal(await covered(cobertura(unnamed + unnamed)), "2/2");
  });
  it("takes the totals of the root only where there are no lines", async () => {
    const root = `lines-covered="3" lines-valid="9"`;
    const lines = `<class filename="a"><lines><line number="1" hits="1"/></lines></class>`;
    assert.equal(await covered(cobertura("", root)), "3/9");
    assert.equal(await covered(cobertura(lines, root)), "1/1");
  });
});

describe("JaCoCo", () => {
  it("covers a line if any of its instructions ran", async () => {
    const lines =
      `<line nr="1" mi="5" ci="1"/><line nr="2" mi="1" ci="0"/><line nr="3" mi="0" ci="0"/>`;
    const report = jacoco(
      `<package name="p"><sourcefile name="A.java">${lines}</sourcefile></package>`,
    );
    assert.equal(await covered(report), "1/2");
  });
  it("takes the counter of the innermost level without lines", async () => {
    const counter = (missed: number, covered: number) =>
      `<counter type="LINE" missed="${missed}" covered="${covered}"/>`;
    const opaque = `<class name="p/B">${counter(7, 7)}</class>${counter(1, 2)}`;
    const report = jacoco(`<package name="p">${opaque}</package>${counter(50, 50)}`);
    assert.equal(await covered(report), "2/3");
    assert.equal(await covered(jacoco(counter(1, 4))), "4/5");
  });
  it("keeps the modules of an aggregated report apart", async () => {
    const group = (name: string, ci: number) =>
      `<group name="${name}"><package name="p"><sourcefile name="A.java">` +
      `<line nr="1" mi="1" ci="${ci}"/></sourcefile></package></group>`;
    assert.equal(await covered(jacoco(group("one", 0) + group("two", 1))), "1/2");
  });
});

describe("Clover", () => {
  const stmt = (num: number, count: number) => `<line num="${num}" type="stmt" count="${count}"/>`;
  const method = (num: number, count: number) =>
    `<line num="${num}" type="method" count="${count}"/>`;

  it("counts statements and conditions, no methods", async () => {
    const cond = (num: number, yes: number, no: number) =>
      `<line num="${num}" type="cond" truecount="${yes}" falsecount="${no}"/>`;
    const lines = method(1, 1) + stmt(2, 1) + cond(3, 0, 2) + cond(4, 0, 0) + stmt(4, 0);
    assert.equal(await covered(clover(`<file name="A" path="/A">${lines}</file>`)), "2/3");
  });
  it("takes the statements of a file without lines", async () => {
    const metrics = `<metrics statements="8" coveredstatements="3"/>`;
    const inside =
      `<file name="A"><class><metrics statements="99" coveredstatements="9"/></class>` +
      `${method(1, 0)}${metrics}</file><metrics statements="20" coveredstatements="20"/>`;
    assert.equal(await covered(clover(inside)), "3/8");
  });
  it("leaves out the project of the tests", async () => {
    const test = `<testproject><file path="/T">${stmt(1, 1)}</file></testproject>`;
    assert.equal(await covered(`<coverage clover="4">${test}</coverage>`), "0/0");
  });
  it("finds the line that PHPUnit hides behind a method", async () => {
    const lines = method(1, 2) + stmt(2, 2) + method(5, 1) + method(7, 0) + stmt(8, 0);
    const file =
      `<file name="/a.php">${lines}<metrics statements="3" coveredstatements="2"/></file>`;
    assert.equal(await covered(clover(file, `generated="1"`)), "2/3");
    assert.equal(await covered(clover(file, `generated="1" clover="4"`)), "1/2");
  });
  it("keeps files of the same name in different packages apart", async () => {
    const inPackage = (name: string, count: number) =>
      `<package name="${name}"><file name="A.java">${stmt(1, count)}</file></package>`;
    assert.equal(await covered(clover(inPackage("p.one", 0) + inPackage("p.two", 1))), "1/2");
  });
});

describe("Go cover profiles", () => {
  it("cover a line on which any block ran", async () => {
    assert.equal(await covered("mode: count\na.go:1.1,3.9 2 7\na.go:3.9,5.2 1 0\n"), "3/5");
  });
  it("leave out blocks without statements, and a last line before its first column", async () => {
    assert.equal(await covered("mode: set\na.go:1.14,1.15 0 1\na.go:4.1,6.1 1 1\n"), "2/2");
  });
  it("may repeat blocks and modes", async () => {
    const profile = (count: number) => `mode: atomic\nexample.com/p/a.go:1.1,2.2 1 ${count}\n`;
    assert.equal(await covered(profile(0) + profile(3) + profile(0)), "2/2");
  });
});

describe("JSON formats", () => {
  it("take the lines on which Istanbul's statements start, in any order of the members", async () => {
    const start = (line: number) => `{"end":{"line":9},"start":{"line":${line}}}`;
    const map = `"statementMap":{"0":${start(3)},"1":${start(3)},"2":${start(4)}}`;
    assert.equal(await covered(`{"a":{${map},"s":{"0":0,"1":2,"2":0}}}`), "1/2");
    assert.equal(
      await covered(`{"a":{"branchMap":{},"s":{"0":0,"1":2,"2":0},${map}}}`),
      "1/2",
    );
  });
  it("sum the files of a summary without a total", async () => {
    const lines = (total: number, covered: number) =>
      `{"lines":{"total":${total},"covered":${covered}}}`;
    assert.equal(await covered(`{"a":${lines(4, 1)},"b":${lines(6, 2)}}`), "3/10");
    assert.equal(await covered(`{"a":${lines(4, 1)},"total":${lines(5, 5)}}`), "5/5");
  });
  it("leave out lines that SimpleCov cannot cover or ignores", async () => {
    assert.equal(await covered(`{"RSpec":{"coverage":{"a.rb":[1,null,"ignored",0]}}}`), "1/2");
  });
  it("merge the commands of SimpleCov", async () => {
    const command = (name: string, lines: string) =>
      `"${name}":{"coverage":{"a.rb":{"lines":[${lines}],"branches":{}}},"timestamp":1.5}`;
    assert.equal(
      await covered(`{${command("RSpec", "1,0")},${command("Features", "0,1")}}`),
      "2/2",
    );
  });
  it("leave out excluded lines and docstrings of coverage.py", async () => {
    const file = `{"executed_lines":[1,3,4],"summary":{"covered_lines":1},"missing_lines":[5],` +
      `"excluded_lines":[4],"functions":{"f":{"executed_lines":[99]}}}`;
    const report = `{"meta":{"version":"7.6"},"files":{"a.py":${file}},` +
      `"totals":{"covered_lines":7,"num_statements":8}}`;
    assert.equal(await covered(report), "1/2");
  });
  it("take the totals of coverage.py where there are no lines", async () => {
    const report = `{"files":{},"totals":{"covered_lines":7,"num_statements":8}}`;
    assert.equal(await covered(report), "7/8");
  });
});
