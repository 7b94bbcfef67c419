/** Workflow commands of GitHub Actions, which show failures next to the lines of a pull request. */
import { compareVerdicts } from "../analysis/verdict.ts";
import type { TestIdentity } from "../base/identity.ts";
import { showDirections, testPath } from "../base/text.ts";

/** GitHub shows at most ten errors of a step. */
const MAX_ANNOTATIONS = 10;

/** A test that failed. */
export interface AnnotatedTest extends TestIdentity {
  verdict: string;
  message: string;
  /** The whole text of the failure, such as a stack trace. */
  body: string;
}

/** A line `::error ...` for each failure that is not excused, new ones first; at most ten. */
export function annotationLines(failed: readonly AnnotatedTest[]): string[] {
  return failed.filter(({ verdict }) => verdict !== "quarantined")
    .toSorted((a, b) => compareVerdicts(a.verdict, b.verdict))
    .slice(0, MAX_ANNOTATIONS)
    .map((test) => {
      const { file, verdict, message } = test;
      // Paths outside of the checkout have no line in the pull request.
      const isInside = file !== "" && !/^([/\\]|[A-Za-z]:|\.\.)/.test(file);
      const line = isInside ? lineOf(test) : null;
      const properties = [
        ...isInside ? [`file=${escapeProperty(file)}`] : [],
        ...line === null ? [] : [`line=${line}`],
        `title=${escapeProperty(`${verdict}: ${testPath(test)}`)}`,
      ];
      return `::error ${properties.join(",")}::${escapeData(message || "failed")}`;
    });
}

/** The first line of the test's file in the failure: `cart.ts:12`, `"cart.py", line 12`, `cart.cs:line 12`. */
function lineOf({ file, message, body }: AnnotatedTest): number | null {
  const name = file.split("/").at(-1)!;
  const text = `${message}\n${body}`;
  for (let at = text.indexOf(name); at !== -1; at = text.indexOf(name, at + name.length)) {
    // Not the end of a longer name, such as `my_cart.ts`.
    if (at > 0 && /[\w.-]/.test(text[at - 1]!)) continue;
    const after = text.slice(at + name.length, at + name.length + 20);
    const [, digits] = /^(?:"?[,:] ?line |[:(])(\d{1,7})\b/.exec(after) ?? [];
    if (digits !== undefined) return Number(digits);
  }
  return null;
}

function escapeData(text: string): string {
  return showDirections(text).replaceAll("%", "%25").replaceAll("\r", "%0D")
    .replaceAll("\n", "%0A");
}

function escapeProperty(text: string): string {
  return escapeData(text).replaceAll(":", "%3A").replaceAll(",", "%2C");
}
