/** The tools of the laboratory. */
import { COMPILED } from "./compiled.ts";
import { JAVASCRIPT } from "./javascript.ts";
import { JVM } from "./jvm.ts";
import { NEW_JAVASCRIPT } from "./new_javascript.ts";
import { NEW_PYTHON } from "./new_python.ts";
import { OTHER_JAVASCRIPT } from "./other_javascript.ts";
import { PYTHON } from "./python.ts";
import { SCRIPTS } from "./scripts.ts";
import type { Tool } from "./tool.ts";

export const TOOLS: Record<string, Tool> = {
  ...JAVASCRIPT,
  ...NEW_JAVASCRIPT,
  ...OTHER_JAVASCRIPT,
  ...PYTHON,
  ...NEW_PYTHON,
  ...JVM,
  ...COMPILED,
  ...SCRIPTS,
};
