import { useState } from 'preact/hooks';
import { lazy } from '../../../components/lazy.tsx';
import { Menu, MenuItem } from '../../../components/menu.tsx';
import { pickFiles } from '../../../components/save-file.ts';
import type { ChatSession } from '../model/chat-session.ts';
import { removeChat } from '../model/chats.ts';
import { focusComposer } from './focus.ts';

const CopyAsDialog = lazy(async () => (await import('./copy-as-dialog.tsx')).CopyAsDialog);
const files = () => import('../model/chat-files.ts');

interface ChatMenuProps {
  readonly session: ChatSession;
  readonly onRename: () => void;
}

export function ChatMenu({ session, onRename }: ChatMenuProps) {
  const [isCopied, setCopied] = useState(false);
  const chat = session.chat.value;
  const isNew = chat.title === '';
  return (
    <>
      <Menu label="More" icon="more">
        <MenuItem icon="copy" onClick={() => setCopied(true)}>
          Copy as program
        </MenuItem>
        <MenuItem
          icon="download"
          onClick={() => void files().then(({ saveMarkdown }) => saveMarkdown(session))}
        >
          Export as Markdown
        </MenuItem>
        <MenuItem
          icon="download"
          onClick={() => void files().then(({ saveChat }) => saveChat(session))}
        >
          Export as JSON
        </MenuItem>
        <MenuItem icon="download" onClick={() => void files().then(({ saveAll }) => saveAll())}>
          Export all chats
        </MenuItem>
        <MenuItem icon="upload" onClick={() => void importFiles()}>
          Import JSON
        </MenuItem>
        {!isNew && (
          <>
            <MenuItem icon="edit" onClick={onRename}>
              Rename
            </MenuItem>
            <MenuItem
              icon="trash"
              isDanger
              onClick={() => void removeChat(chat).then(focusComposer)}
            >
              Delete this chat
            </MenuItem>
          </>
        )}
      </Menu>
      {isCopied && <CopyAsDialog session={session} onClose={() => setCopied(false)} />}
    </>
  );
}

/** Files are picked at once: browsers want it to follow the click. */
async function importFiles(): Promise<void> {
  const [picked, { importChats }] = await Promise.all([
    pickFiles('.json,application/json'),
    files(),
  ]);
  await importChats(picked);
}
