/** The grammar of Codex' tool `apply_patch`, as version 0.169.0 sends it, and a text of it. */
export const APPLY_PATCH = `start: begin_patch hunk+ end_patch
begin_patch: "*** Begin Patch" LF
end_patch: "*** End Patch" LF?

hunk: add_hunk | delete_hunk | update_hunk
add_hunk: "*** Add File: " filename LF add_line+
delete_hunk: "*** Delete File: " filename LF
update_hunk: "*** Update File: " filename LF change_move? change?

filename: /(.+)/
add_line: "+" /(.*)/ LF -> line

change_move: "*** Move to: " filename LF
change: (change_context | change_line)+ eof_line?
change_context: ("@@" | "@@ " /(.+)/) LF
change_line: ("+" | "-" | " ") /(.*)/ LF
eof_line: "*** End of File" LF

%import common.LF
`;

/** The same where Codex works in several environments. */
export const APPLY_PATCH_IN_ENVIRONMENT = APPLY_PATCH.replace(
  'start: begin_patch hunk+ end_patch',
  `start: begin_patch environment_id? hunk+ end_patch
environment_id: "*** Environment ID: " filename LF`,
);

export const PATCH = `*** Begin Patch
*** Add File: a/b.txt
+one "quoted" \\ <b>line</b>
+
*** Update File: c.py
*** Move to: d.py
@@ def f():
 same
-old
+new
*** End of File
*** Delete File: e
*** End Patch
`;
