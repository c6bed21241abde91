"""What an answer reports about itself, in English as all messages are; what stands in the place of
an answer is in the language of the question."""

from __future__ import annotations

from rag.answers.language import language_of
from rag.answers.refusals import PHRASES

_ENGLISH = {
    "not_found": "not found in your notes",
    "small_talk": "This is rag. Ask it a question: it answers from your notes, with sources.",
    "lacks_subject": "Ask the whole question: this one does not say what it is about.",
    "near": "Nearest to the question, without an answer:",
    "no_answer": "{model} gave no answer",
    "not_supported": "the answer of {model} is not borne out by your notes and was left out",
    "unverified": "unverified: the prompt template shows no numbers by which {model} could name "
    "its sources",
    "no_reasoning": "{model} does not reason",
    "injection": "a passage that instructs a model was left out of what {model} was shown",
    "injections": "{count} passages that instruct a model were left out of what {model} was shown",
    "step_failed": "the step {step} of ask.steps failed and was left out: {why}",
    "few_notes": "{model} was shown {shown} of {count} notes: "
    "it reads {tokens:,} tokens (ollama.max_context)",
    "not_all_notes": "{model} was shown {shown} of {count} notes",
    "prompt_cut": "{model} read only {read:,} tokens of the prompt; the server cut off the rest",
    "prompt_cut_of": "{model} read only {read:,} of about {sent:,} tokens of the prompt; "
    "the server cut off the rest",
    "cut_by_ollama": "Raise ollama.max_context, lower ask.top_k, or update Ollama.",
    "cut_by_server": "Give the server a larger context (Ollama: OLLAMA_CONTEXT_LENGTH), "
    "or lower ask.top_k.",
    "quoted": "No model wrote this: it is quoted from your notes (confidence {confidence:.2f}).",
    "listed": "No model wrote this: it is how the newest of these notes begin.",
    "quoted_again": "Quoted from your notes (confidence {confidence:.2f}).",
    "listed_again": "Quoted from the beginnings of the newest notes.",
}
_JAPANESE = {
    "not_found": PHRASES["ja"],
    "small_talk": "rag です。質問すると、ノートの内容から出典つきで答えます。",
}
NOT_FOUND = _ENGLISH["not_found"]
SOME_MODEL = "the model"  # one whose generator does not name it


def notice(question: str, key: str, **values: object) -> str:
    """Return a message; what stands in the place of an answer in the language of a question.

    :param values: what the message names, such as `model`.
    """
    if key in _JAPANESE and language_of(question) == "ja":
        return _JAPANESE[key]
    return _ENGLISH[key].format(**values)
