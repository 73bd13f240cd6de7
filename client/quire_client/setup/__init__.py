"""Setup: adds Quire's entries to the configuration files of agents and git, and removes them."""

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_client.setup import agents as agents, write as write
    from quire_client.setup.agents import *
    from quire_client.setup.claude_code import *
    from quire_client.setup.errors import *
    from quire_client.setup.git_config import GIT as GIT, config_file as config_file, git_file as git_file
    from quire_client.setup.git_hooks import (
        GIT_HOOKS as GIT_HOOKS,
        git_hook_files as git_hook_files,
        hooks_folder as hooks_folder,
        set_aside as set_aside,
    )
    from quire_client.setup.write import Change as Change
else:
    __getattr__ = face(
        __name__,
        agents="File Scope WayIn broken ways_in",
        claude_code="OBJECTS SERVING TOOL",
        errors="MalformedConfig",
        git_config="GIT config_file git_file",
        git_hooks="GIT_HOOKS git_hook_files hooks_folder set_aside",
        write="Change",
    )
