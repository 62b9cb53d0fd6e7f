import { useState } from 'preact/hooks';
import { Menu, MenuItem } from '../../../components/menu.tsx';
import { notify } from '../../../components/notices.tsx';
import { pickFiles, saveFile } from '../../../components/save-file.ts';
import type { ChatSession } from '../model/chat-session.ts';
import { addChats, chats, removeChat } from '../model/chats.ts';
import { readMessages } from '../model/chat-store.ts';
import { fromJson, toJson, toMarkdown } from '../model/export.ts';
import { CopyAsDialog } from './copy-as-dialog.tsx';
import { RenameDialog } from './rename-dialog.tsx';

export function ChatMenu({ session }: { readonly session: ChatSession }) {
  const [dialog, setDialog] = useState<'copy' | 'rename' | null>(null);
  const chat = session.chat.value;
  const name = (chat.title || 'chat').replaceAll(/[^\p{L}\p{N}]+/gu, '-').toLowerCase();
  const close = () => setDialog(null);
  return (
    <>
      <Menu label="More" icon="more">
        <MenuItem icon="copy" onClick={() => setDialog('copy')}>
          Copy as program
        </MenuItem>
        <MenuItem
          icon="download"
          onClick={() => saveFile(`${name}.md`, toMarkdown(chat, session.path()), 'text/markdown')}
        >
          Export as Markdown
        </MenuItem>
        <MenuItem
          icon="download"
          onClick={() => {
            const json = toJson([{ chat, messages: session.allMessages() }]);
            saveFile(`${name}.json`, json, 'application/json');
          }}
        >
          Export as JSON
        </MenuItem>
        <MenuItem icon="download" onClick={() => void exportAll()}>
          Export all chats
        </MenuItem>
        <MenuItem icon="upload" onClick={() => void importFiles()}>
          Import JSON
        </MenuItem>
        <MenuItem icon="edit" onClick={() => setDialog('rename')}>
          Rename
        </MenuItem>
        <MenuItem icon="trash" isDanger onClick={() => void removeChat(chat)}>
          Delete this chat
        </MenuItem>
      </Menu>
      {dialog === 'copy' && <CopyAsDialog session={session} onClose={close} />}
      {dialog === 'rename' && <RenameDialog session={session} onClose={close} />}
    </>
  );
}

async function exportAll(): Promise<void> {
  const all = await Promise.all(
    chats.peek().map(async (chat) => ({ chat, messages: await readMessages(chat.id) })),
  );
  saveFile('chats.json', toJson(all), 'application/json');
}

async function importFiles(): Promise<void> {
  for (const file of await pickFiles('.json,application/json')) {
    try {
      await addChats(fromJson(await file.text()));
    } catch (error) {
      notify(`${file.name}: ${error instanceof Error ? error.message : String(error)}`, true);
    }
  }
}
