"""The command that mends what an error or a message is about: named here, and nowhere below."""

from __future__ import annotations

from rag.exceptions import Message, Remedy

# A remedy -> what to type. `{hint}` is what the message itself says to do, which the other rows
# say in words of their own; `{subject}` is what the remedy is for.
WORDS: dict[Remedy, str] = {
    Remedy.REBUILD_INDEX: "Rebuild the index with `rag index --rebuild`.",
    Remedy.REBUILD_IF_AGAIN: "If it happens again, rebuild the index with `rag index --rebuild`.",
    Remedy.REBUILD_OR_REPORT: "If `rag index --rebuild` does not help, report it.",
    Remedy.RUN_INDEX: "`rag index`",
    Remedy.INDEX_ANEW: "`rag index` rebuilds it.",
    Remedy.INDEX_FROM_NOTES: "`rag index` rebuilds it from the notes.",
    Remedy.INDEX_MADE_ANEW: "Run `rag index` again: the index is rebuilt.",
    Remedy.INDEX_AGAIN: "Run `rag index` again; what was finished is kept.",
    Remedy.INDEX_MISSING: "Run `rag index` again; it writes what is missing.",
    Remedy.INDEX_THEN_REBUILD: "Run `rag index` again; if it happens again, `rag index --rebuild`.",
    Remedy.INDEX_OR_PRUNE: "Make it readable and run `rag index`, or go on without with `rag index"
    " --prune`. Until then searches use the old index.",
    Remedy.INDEX_INTO_SERVER: "Index straight into the server with `rag index`.",
    Remedy.UPDATE_INDEX: "`rag index` brings the index up to date.",
    Remedy.WRITE_MISSING: "`rag index` writes what is missing.",
    Remedy.MOVE_AWAY: "Move {subject} away, then run `rag index`.",
    Remedy.MAKE_INDEX: "Make one with `rag index FOLDER` (FOLDER holds your .md files).",
    Remedy.WAIT: "Try again later, or wait for it with `rag index --wait`.",
    Remedy.NAME_NOTES: "Name a folder that holds your .md files: `rag index FOLDER`",
    Remedy.NAME_FOLDER: "Name the folder that holds your notes: `rag index FOLDER`",
    Remedy.NAME_VAULT: "Give this one another name: `rag index --name NAME {subject}`",
    Remedy.NAME_FOLDER_OF_VAULTS: "Name a folder that holds vaults: `rag init FOLDER`",
    Remedy.NAME_SERVER: "RAG_STORE__URL=http://127.0.0.1:6333 rag index --to-server",
    Remedy.TAKE_OVER: "{hint} To write it from here from now on: `rag index --take-over`",
    Remedy.ADD_NOTES: "`rag vault list` shows what should be in it; `rag index FOLDER` adds to it.",
    Remedy.ADD_ALL_THE_SAME: "`rag index FOLDER` adds it all the same",
    Remedy.FIND_VAULTS: "`rag init` looks for vaults; `rag index FOLDER` makes one.",
    Remedy.MAKE_VAULT: "There is no vault yet: `rag index FOLDER` makes one.",
    Remedy.LIST_VAULTS: "{hint} `rag vault list` shows all.",
    Remedy.FORGET_VAULT: "{hint} `rag vault remove {subject}` forgets it, `rag index --prune` all"
    " that are gone.",
    Remedy.REMOVE_VAULT: "`rag vault remove {subject}`",
    Remedy.REMOVE_AGAIN: "take out again, with `rag vault remove`, what you had taken out of"
    " vaults_dir",
    Remedy.TAKE_OUT_VAULT: "`rag vault remove {subject}` takes it out",
    Remedy.NEXT_INDEX: "rag index",
    Remedy.NEXT_INDEX_FOLDER: "rag index FOLDER",
    Remedy.EMBED_ANEW: "Make them again with `rag index --embed`; until then search is by words.",
    Remedy.EMBED_AGAIN: "The notes are found by words; `rag index --embed` tries again. {hint}",
    Remedy.SHOW_EVERYTHING: "(--all shows them)",
    Remedy.LOWER_MIN_SCORE: "(--min-score 0 shows them)",
    Remedy.EMBED_REST: "(`rag index` makes the rest)",
    Remedy.EMBED_OR_CHOOSE_MODE: "Run `rag index`. Search by words: --mode lexical.",
    Remedy.CHOOSE_MODE: "Search by words: --mode lexical.",
    Remedy.MAKE_VECTORS: "`rag index --embed` makes them.",
    Remedy.MAKE_VECTORS_ANEW: "`rag index --embed` makes the vectors again.",
    Remedy.CHECK_CHAT_MODEL: "Set chat.url, or ollama.chat_model and ollama.enabled = true;"
    " `rag doctor` checks them.",
    Remedy.ASK_AT_ONCE: "{hint} `rag doctor` asks it at once.",
    Remedy.SHOW_FEWER_NOTES: "{hint} For one answer: --top-k {subject}",
    Remedy.SEE_DOCTOR: "See `rag doctor`.",
    Remedy.INSTALL_SERVICE: "`rag service install` installs it anew.",
    Remedy.REMOVE_SERVICE: "`rag service remove` takes away what was written.",
    Remedy.SCHEDULE_ELSEWHERE: "{hint} Any other scheduler may run `rag index -q`.",
    Remedy.SHOW_SETTINGS: "`rag config --defaults` lists the settings.",
    Remedy.LIST_SETTINGS: "{hint} `rag config` lists all settings.",
    Remedy.MEND_SETTING: "Mend {subject}: `rag config` says where it is set.",
    Remedy.MEND_FILE: "Mend {subject}, or name another with --config.",
    Remedy.CHECK_FILE_NAME: "Check --config and RAG_CONFIG.",
    Remedy.START_STORE: "Start it, or check store.url: `rag config`",
    Remedy.EXPLAIN_KEY: "None was sent: `rag config` says of {subject} why.",
    Remedy.TRUST_FILE: "`rag trust` shows what it asks for, and trusts it.",
    Remedy.TRUST_AGAIN: "Delete {subject}, then `rag trust` in each folder whose file you trust.",
    Remedy.NAME_FILE: "`--config FILE` reads a file without asking.",
    Remedy.LIST_PROBLEMS: "`rag status --problems` lists them.",
    Remedy.SEARCH_WORDS: "Look for its words with `rag search`.",
    Remedy.SEARCH_OR_CHOOSE: "Name one of these, or look for its words with `rag search`.",
    Remedy.TYPE_QUERY: 'Say what to look for: `rag search "words"`',
    Remedy.TYPE_TRANSFORM: 'Say what to look for: `rag transform "words"`',
    Remedy.TYPE_QUESTION: 'Ask something: `rag ask "What is …?"`',
    Remedy.BEGIN_CHAT: "Begin one with `rag chat`.",
    Remedy.BEGIN_ANOTHER_CHAT: "Begin another with `rag chat`.",
    Remedy.LIST_CHATS: "`rag chat --list` lists them.",
    Remedy.LIST_FACTS: "`/facts` lists them with their numbers.",
    Remedy.KEEP_FACT: "/remember TEXT keeps one.",
    Remedy.TYPE_FACT: "/remember I work nights",
    Remedy.TYPE_FORGET: "/forget 1. `/facts` lists them with their numbers.",
    Remedy.LIST_RECORDS: "`rag audit` lists them.",
    Remedy.SHOW_RECORD: "`rag audit ID` shows them.",
    Remedy.SAVE_BASELINE: "{hint} Make one with `rag eval QUESTIONS --save FILE`.",
    Remedy.SAVE_SAME_SET: "Make a baseline with the same set: `rag eval QUESTIONS --save FILE`",
    Remedy.NAME_SAVED_FILE: "Name another file: --save FILE",
    Remedy.EXPLAIN_QUESTIONS: "`rag eval --help` says what a question set is.",
    Remedy.ADD_EXTRA: "{hint} That takes `{subject}`; `rag doctor` then checks it.",
}
# Subjects that are typed, and so quoted for a shell.
_TYPED = {
    Remedy.FORGET_VAULT,
    Remedy.NAME_VAULT,
    Remedy.REMOVE_VAULT,
    Remedy.TAKE_OUT_VAULT,
}


def worded(text: str) -> str:
    """Return a text with the command that mends what it is about, if it has a remedy."""
    if not isinstance(text, Message) or text.remedy is None:
        return text
    subject = text.subject
    if text.remedy in _TYPED:
        from shlex import quote

        subject = quote(subject)
    elif text.remedy is Remedy.ADD_EXTRA:
        from rag.cli.framework.installation import command_to_add

        subject = command_to_add(subject)
    words = WORDS[text.remedy].format(hint=text.hint, subject=subject).strip()
    return f"{text.cause}{text.joint}{words}" if text.cause else words
