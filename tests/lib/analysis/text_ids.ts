import {
  type FailureText,
  failureText,
  TextCollector,
} from "../../../lib/analysis/failure_texts.ts";

/** The id under which a text is stored. */
export function textIdOf(text: FailureText): string {
  const collector = new TextCollector();
  collector.add(text);
  return failureText(collector.finish(), 0).textId;
}
