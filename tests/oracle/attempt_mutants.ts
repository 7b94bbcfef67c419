/** Definitions with one mistake each: attempts of submissions and tests, and causes of failures. */
import type { TestIdentity } from "../../lib/base/identity.ts";
import type { OracleClass } from "./in_memory_model.ts";
import type { KnownTest, PlainSubmission } from "./model.ts";
import { Oracle, type Row } from "./oracle.ts";

/** The wrong definitions by their mistake. */
export const ATTEMPT_MUTANTS: Record<string, OracleClass> = {
  "pruned submissions are found": class extends Oracle {
    override storedSubmission(repository: number, id: string): PlainSubmission | undefined {
      return this.submissionsOf(repository).find((one) => one.id === id);
    }
  },
  "submissions older than the window are not found": class extends Oracle {
    override storedSubmission(repository: number, id: string): PlainSubmission | undefined {
      return this.submissionsInWindow(repository).find((one) => one.id === id);
    }
  },
  "attempts of a submission come in the order of the report": class extends Oracle {
    override attempts(submission: PlainSubmission, status: string): Row[] {
      return super.attempts(submission, status).sort((a, b) => a.position - b.position);
    }
  },
  "failures do not come first": class extends Oracle {
    override attempts(submission: PlainSubmission, status: string): Row[] {
      const key = ({ result }: Row) =>
        [result.suite, result.class, result.name, result.file].join();
      return super.attempts(submission, status)
        .sort((a, b) => key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : a.position - b.position);
    }
  },
  "the latest attempt in a submission comes first": class extends Oracle {
    override attempts(submission: PlainSubmission, status: string): Row[] {
      const { results } = submission;
      const last = results.length - 1;
      return super.attempts({ ...submission, results: results.toReversed() }, status)
        .map((row) => ({ ...row, submission, position: last - row.position }));
    }
  },
  "oldest runs first": class extends Oracle {
    override runs(test: KnownTest, status: string): Row[] {
      return super.runs(test, status).reverse();
    }
  },
  "the first run in a submission comes first": class extends Oracle {
    override runs(test: KnownTest, status: string): Row[] {
      return super.runs(test, status).sort((a, b) =>
        a.submission === b.submission ? a.position - b.position : this.compareInTime(b, a)
      );
    }
  },
  "runs of all time": class extends Oracle {
    override runs(test: KnownTest, status: string): Row[] {
      return this.rowsOf(test).filter((row) => this.hasStatus(row, status)).reverse();
    }
  },
  "every run is the first": class extends Oracle {
    override runCount(): number {
      return 1;
    }
  },
  "retries of all tests count": class extends Oracle {
    override runCount({ position }: Row): number {
      return position + 1;
    }
  },
  "only failures count as retries": class extends Oracle {
    override runCount(row: Row): number {
      const { submission } = row;
      const earlier = submission.results.slice(0, row.position)
        .filter((result, position) => this.isNegative({ submission, position, result }));
      return super.runCount({
        ...row,
        submission: { ...submission, results: [...earlier, row.result] },
        position: earlier.length,
      });
    }
  },
  "failed are failures without errors": class extends Oracle {
    override hasStatus(row: Row, status: string): boolean {
      return super.hasStatus(row, status === "failed" ? "failure" : status);
    }
  },
  "failures are errors too": class extends Oracle {
    override hasStatus(row: Row, status: string): boolean {
      return super.hasStatus(row, status === "failure" ? "failed" : status);
    }
  },
  "what did not fail passed": class extends Oracle {
    override hasStatus(row: Row, status: string): boolean {
      return status === "passed" ? !this.isNegative(row) : super.hasStatus(row, status);
    }
  },
  "every failure of a disruptive test is a disruption": class extends Oracle {
    override isDisruption(test: KnownTest, row: Row): boolean {
      return this.isNegative(row) && this.disruptionsOf(test).length > 0;
    }
  },
  "passes at the code version of a disruption are disruptions": class extends Oracle {
    override isDisruption(test: KnownTest, row: Row): boolean {
      return this.isNondeterministicAt(this.rowsOf(test), this.codeVersion(row.submission));
    }
  },
  "a failure whose retry passed is no disruption": class extends Oracle {
    override isDisruption(test: KnownTest, row: Row): boolean {
      const later = this.rowsOf(test).filter((other) =>
        other.submission === row.submission && other.position > row.position
      );
      return super.isDisruption(test, row) && !later.some((other) => this.isPositive(other));
    }
  },
  "a set-up never passes": class extends Oracle {
    override impliedPasses(): Row[] {
      return [];
    }
  },
  "a set-up passes in another shard": class extends Oracle {
    override repeats(a: Row, b: Row, rows: Row[], codeVersion: string): boolean {
      const hasFile = this.isSetUp(a.result) && a.result.file !== "" && a.submission.job !== "";
      return super.repeats(a, b, rows, codeVersion) ||
        hasFile && !this.hasLegs(a.submission.repository, codeVersion) &&
          !this.isOneAttempt(a.submission, b.submission);
    }
  },
  "a set-up passes even where its case failed": class extends Oracle {
    override impliesPass(rows: Row[]): boolean {
      return super.impliesPass(rows.filter(({ result }) => !this.isSetUp(result)));
    }
  },
  "skipped tests show that a set-up passed": class extends Oracle {
    override impliesPass(rows: Row[]): boolean {
      return rows.length > 0 && !rows.some(({ result }) => this.isSetUp(result));
    }
  },
  "a set-up is that of its suite": class extends Oracle {
    override isOfOneFile(a: TestIdentity, b: TestIdentity): boolean {
      return a.suite === b.suite;
    }
  },
  "failures of all time have causes": class extends Oracle {
    override failures(tests: KnownTest[]): { test: KnownTest; row: Row }[] {
      return tests.flatMap((test) =>
        this.rowsOf(test).filter((row) => this.isNegative(row)).map((row) => ({ test, row }))
      ).sort((a, b) => this.compareInTime(a.row, b.row));
    }
  },
  "failures of all branches have causes": class extends Oracle {
    override failures(tests: KnownTest[]): { test: KnownTest; row: Row }[] {
      return this.isFiltered() ? this.onBranches([]).failures(tests) : super.failures(tests);
    }
  },
  "only disruptions have causes": class extends Oracle {
    override failures(tests: KnownTest[]): { test: KnownTest; row: Row }[] {
      return super.failures(tests).filter(({ test, row }) => this.isDisruption(test, row));
    }
  },
  "the latest failure of a cause is its first": class extends Oracle {
    override failures(tests: KnownTest[]): { test: KnownTest; row: Row }[] {
      return super.failures(tests).reverse();
    }
  },
  "a cause ends at its branch": class extends Oracle {
    override cause(row: Row): string {
      return super.cause(row) + (row.submission.branch ?? "");
    }
  },
  "failures without a message have one cause": class extends Oracle {
    override cause(row: Row): string {
      return row.result.message === "" ? "" : super.cause(row);
    }
  },
  "the whole body is the cause": class extends Oracle {
    override cause({ result, ...row }: Row): string {
      const message = `${result.message} ${result.body.replaceAll("\n", " ")}`;
      return super.cause({ ...row, result: { ...result, message } });
    }
  },
  "the cause is the message as it is": class extends Oracle {
    override cause({ result: { message, body } }: Row): string {
      return message || body.trim().split("\n")[0]!;
    }
  },
};
