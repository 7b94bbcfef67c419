// Tests: tests/lib/cli/commands/comment_test.ts tests/lib/cli/commands/gate_test.ts
import * as v from "valibot";

/** Schema of a text that a function parses, which throws a SyntaxError or RangeError. */
export function readWith<T>(read: (text: string) => T) {
  return v.pipe(
    v.string(),
    v.rawTransform<string, T>(({ dataset, addIssue, NEVER }) => {
      try {
        return read(dataset.value);
      } catch (error) {
        if (!(error instanceof SyntaxError || error instanceof RangeError)) throw error;
        addIssue({ message: error.message });
        return NEVER;
      }
    }),
  );
}
