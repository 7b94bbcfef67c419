// Tests: tests/lib/comment/shared_tests_test.ts
/** Untrusted text in Markdown of GitHub, Forgejo, Gitea and GitLab. */
import { cutText, markdownCode, showDirections } from "../base/text.ts";

/**
 * A name or message as inline code of at most `limit` characters: no mention, link, image, tag, HTML
 * comment or quick action in it takes effect. Put it after another character of the line.
 */
export function safeCode(text: string, limit: number): string {
  const line = showDirections(text.toWellFormed().replaceAll(/[\s\p{Cc}\p{Zl}\p{Zp}]+/gu, " "))
    .trim();
  // Two back ticks with nothing between them are not code.
  if (line === "") return "(empty)";
  return markdownCode(cutText(line, limit));
}
